/* SPDX-License-Identifier: MIT */
#include "objects.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "calls.h"
#include "cleanup.h"
#include "files.h"
#include "settings.h" /* the skeletons hold its structs */
#include "fentry.skel.h"
#include "fentry_old.skel.h"
#include "files.skel.h"
#include "files_old.skel.h"
#include "macro.h"
#include "naming.h"
#include "prototypes.h"
#include "reading.h"
#include "tasks.skel.h"
#include "tasks_old.skel.h"

/* What every skeleton begins with. */
struct any_bpf {
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *object;
};

#define PATHS "where operations by path took place"
#define LIBAIO "bytes by libaio"
#define THREADS "what kernel threads did"
#define URING "operations by io_uring"
#define UNPOSTED "bytes of io_uring requests that want no completion"
#define BEGINS "files closed by io_uring, and requests that want no completion"
#define UNSEEN "how many operations by io_uring were not counted"

/*
 * @arguments: of programs for one tracepoint, the one whose number of arguments the kernel's has is used; 0: any.
 */
/* clang-format off */
static const struct {
	enum object_id object;
	const char *tier, *program, *attach, *gives;
	int arguments;
	const char *module; /* that the function belongs to; without it there is no such hook */
} table[] = {
	{ OBJECT_TASKS, "T0", "count_freed_task", "tp_btf/sched_process_free", "totals of ended tasks", 0, NULL },
	{ OBJECT_TASKS, "T0", "count_exit", "tp_btf/sched_process_exit", "tasks that ended and are not yet freed", 0, NULL },
	{ OBJECT_TASKS, "T0", "home_task", "tp_btf/sched_process_fork", "totals of tasks that move between groups", 0, NULL },
	{ OBJECT_TASKS, "T0", "move_task", "tp_btf/cgroup_attach_task", "totals of tasks that move between groups", 0, NULL },
	{ OBJECT_TASKS, "T0", "read_tasks", "iter/task", "totals of live tasks", 0, NULL },

	{ OBJECT_FILES, "T2", "enter_call", "tp_btf/sys_enter", "operations on files", 0, NULL },
	{ OBJECT_FILES, "T2", "leave_call", "tp_btf/sys_exit", "operations on files", 0, NULL },
	{ OBJECT_FILES, "T2", "park_call", "tp_btf/sched_switch", "time and descriptor of calls that sleep", 0, NULL },
	{ OBJECT_FILES, "T2", "forget_call", "tp_btf/sched_process_exit", "room taken by tasks killed in a call", 0, NULL },
	{ OBJECT_FILES, "T2", "settle_interrupted_call", "tp_btf/signal_deliver", "calls that end with EINTR", 0, NULL },

	{ OBJECT_FILES, "T2+", "count_request_result", "tp_btf/io_uring_complete", URING, 7, NULL },
	{ OBJECT_FILES, "T2+", "count_request_entry", "tp_btf/io_uring_complete", URING, 3, NULL },
	{ OBJECT_FILES, "T2+", "begin_request_sqe", "tp_btf/io_uring_submit_sqe", BEGINS, 2, NULL },
	{ OBJECT_FILES, "T2+", "begin_request_req", "tp_btf/io_uring_submit_req", BEGINS, 1, NULL },
	{ OBJECT_FILES, "T2+", "count_unseen_request", "tp_btf/io_uring_submit_sqe", UNSEEN, 7, NULL },

	{ OBJECT_FILES, "T2+", "count_page_in", "tp_btf/mm_filemap_add_to_page_cache", "pages read by mappings", 0, NULL },
	{ OBJECT_FILES, "T2+", "count_dirtied", "tp_btf/writeback_dirty_folio", "pages dirtied by mappings", 2, NULL },
	{ OBJECT_FILES, "T2+", "count_dirtied_page", "tp_btf/writeback_dirty_page", "pages dirtied by mappings", 2, NULL },

	{ OBJECT_FENTRY, "T2+", "note_permission", "fentry/security_inode_permission", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_getattr", "fentry/security_inode_getattr", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_setattr", "fentry/security_inode_setattr", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_readlink", "fentry/security_inode_readlink", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_getxattr", "fentry/security_inode_getxattr", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_setxattr", "fentry/security_inode_setxattr", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_listxattr", "fentry/security_inode_listxattr", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_removexattr", "fentry/security_inode_removexattr", PATHS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "note_statfs", "fentry/security_sb_statfs", PATHS, 0, NULL },

	{ OBJECT_FENTRY, "T2+", "start_libaio_read", "fentry/aio_read", LIBAIO, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "start_libaio_write", "fentry/aio_write", LIBAIO, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "end_libaio_request", "fentry/aio_complete_rw", LIBAIO, 0, NULL },

	{ OBJECT_FENTRY, "T2+", "count_unposted_at_once", "fentry/kiocb_done", UNPOSTED, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "count_unposted_later", "fentry/io_complete_rw", UNPOSTED, 0, NULL },

	{ OBJECT_FENTRY, "T2+", "count_kernel_read", "fexit/vfs_iter_read", THREADS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "count_kernel_write", "fexit/vfs_iter_write", THREADS, 0, NULL },
	{ OBJECT_FENTRY, "T2+", "count_loop_request", "fentry/lo_rw_aio_do_completion", THREADS, 0, "loop" },
	{ OBJECT_FENTRY, "T2+", "count_kernel_splice", "fexit/splice_direct_to_actor", THREADS, 0, NULL },
};
/* clang-format on */
static_assert(ARRAY_SIZE(table) <= HOOKS_MAX, "each hook has its place");

/* ---- each object's own settings ---- */

static int create_tasks(void *bpf)
{
	return tasks_bpf__create_skeleton(bpf);
}

static int create_files(void *bpf)
{
	return files_bpf__create_skeleton(bpf);
}

static int create_fentry(void *bpf)
{
	return fentry_bpf__create_skeleton(bpf);
}

static void set_tasks(void *bpf UNUSED, const struct btf *btf UNUSED)
{
}

static void set_files(void *bpf, const struct btf *btf UNUSED)
{
	struct files_bpf *files = bpf;

	calls_fill((struct call_kind *)files->rodata->call_kinds);
	requests_fill((struct request_kind *)files->rodata->request_kinds);
	mapping_calls_fill((int32_t *)files->rodata->mapping_calls,
			   ARRAY_SIZE(files->rodata->mapping_calls));
	files->rodata->page_bytes = (unsigned int)sysconf(_SC_PAGESIZE);
	call_positions_fill((struct call_position *)files->rodata->call_positions);
	pseudo_magics_fill((uint64_t *)files->rodata->pseudo_magics, ARRAY_SIZE(files->rodata->pseudo_magics));
}

static void set_fentry(void *bpf, const struct btf *btf)
{
	struct fentry_bpf *fentry = bpf;

	requests_fill((struct request_kind *)fentry->rodata->request_kinds);
	fentry->rodata->setattr_dentry = prototype_has_dentry_second(btf, "security_inode_setattr");
	fentry->rodata->setxattr_dentry = prototype_has_dentry_second(btf, "security_inode_setxattr");
	fentry->rodata->removexattr_dentry =
		prototype_has_dentry_second(btf, "security_inode_removexattr");
}

/* The code for newer kernels and that for older ones have the same maps and programs (see compat.bpf.h), so that
 * one skeleton serves both. */
static const struct {
	size_t size;
	int (*create)(void *bpf); /* with the newer code */
	const void *(*older_code)(size_t *ret_size);
	void (*set)(void *bpf, const struct btf *btf);
} skeletons[OBJECT_COUNT] = {
	[OBJECT_TASKS] = { sizeof(struct tasks_bpf), create_tasks, tasks_old_bpf__elf_bytes, set_tasks },
	[OBJECT_FILES] = { sizeof(struct files_bpf), create_files, files_old_bpf__elf_bytes, set_files },
	[OBJECT_FENTRY] = { sizeof(struct fentry_bpf), create_fentry, fentry_old_bpf__elf_bytes, set_fentry },
};

#define ARE_ALIKE(a, b) (sizeof(struct a) == sizeof(struct b))
static_assert(ARE_ALIKE(tasks_bpf, tasks_old_bpf) && ARE_ALIKE(files_bpf, files_old_bpf) &&
		      ARE_ALIKE(files_bpf__rodata, files_old_bpf__rodata) &&
		      ARE_ALIKE(fentry_bpf, fentry_old_bpf) &&
		      ARE_ALIKE(fentry_bpf__rodata, fentry_old_bpf__rodata),
	      "the same maps, programs and settings");

static void destroy(struct any_bpf *bpf)
{
	if (!bpf)
		return;
	if (bpf->skeleton)
		bpf_object__destroy_skeleton(bpf->skeleton);
	free(bpf);
}

static int open_skeleton(enum object_id id, bool is_older, const struct btf *btf, struct any_bpf **ret)
{
	struct any_bpf *bpf = calloc(1, skeletons[id].size);
	int r = bpf ? skeletons[id].create(bpf) : -ENOMEM;

	if (r >= 0) {
		if (is_older)
			bpf->skeleton->data = (void *)skeletons[id].older_code(&bpf->skeleton->data_sz);
		r = bpf_object__open_skeleton(bpf->skeleton, NULL);
	}
	if (r < 0) {
		destroy(bpf);
		return r;
	}
	skeletons[id].set(bpf, btf);
	*ret = bpf;
	return 0;
}

/* ---- what is common ---- */

struct hook *objects_find_hook(struct objects *o, const char *program)
{
	for (size_t i = 0; i < o->hook_count; i++) {
		if (strcmp(o->hooks[i].program, program) == 0)
			return &o->hooks[i];
	}
	return NULL;
}

static enum object_id object_of(const struct hook *hook)
{
	size_t i = 0;

	while (strcmp(table[i].program, hook->program) != 0) /* hooks are made of the table */
		i++;
	return table[i].object;
}

/* Is the hook of that tier, or does it give that?  NULL: any is. */
static bool is_part(const struct hook *hook, const char *part)
{
	return !part || strcmp(hook->tier, part) == 0 || strcmp(hook->gives, part) == 0;
}

/* @part: see is_part(). */
static void refuse(struct objects *o, enum object_id id, const char *part, const char *why)
{
	for (size_t i = 0; i < o->hook_count; i++) {
		struct hook *hook = &o->hooks[i];

		if (object_of(hook) == id && is_part(hook, part) && !*hook->why)
			snprintf(hook->why, sizeof(hook->why), "%s", why);
	}
}

static const char *target_of(const char *attach)
{
	return strchr(attach, '/') + 1;
}

static bool is_trampoline(const char *attach)
{
	return strncmp(attach, "fentry/", 7) == 0 || strncmp(attach, "fexit/", 6) == 0;
}

/* In words, where a load failed. */
static void explain_load(struct objects *o, enum object_id id, const char *part, int error_number)
{
	const char *heard = o->complaint.text;
	char why[160];

	if (error_number == -EPERM && id > OBJECT_FILES) /* EACCES is the verifier's */
		snprintf(why, sizeof(why), "this kernel offers no fentry");
	else if (error_number == -EPERM)
		snprintf(why, sizeof(why), "the kernel does not permit BPF to this user");
	else
		snprintf(why, sizeof(why), "cannot load: %.40s (%.100s)", strerror(-error_number),
			 *heard ? heard : "no reason given");
	refuse(o, id, part, why);
}

static bool is_there(const struct btf *btf, const char *program, const char *attach)
{
	if (!is_trampoline(attach))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (table[i].module && strcmp(table[i].program, program) == 0)
			return true; /* else it were not listed */
	}
	return prototype_has_function(btf, target_of(attach));
}

/* Programs that do not fit this kernel, or were refused, are not loaded, nor those that are not of @part. */
static void choose_programs(struct objects *o, const struct any_bpf *bpf, const struct btf *btf,
			    const char *part)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, bpf->object) {
		const char *name = bpf_program__name(program);
		const char *attach = bpf_program__section_name(program);
		struct hook *hook = objects_find_hook(o, name);

		if (hook && !*hook->why && !is_there(btf, name, attach))
			snprintf(hook->why, sizeof(hook->why), "this kernel has no function '%s'",
				 target_of(attach));
		if (!hook || *hook->why || !is_part(hook, part))
			bpf_program__set_autoload(program, false);
	}
}

static void *map_value(const struct any_bpf *bpf, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(bpf->object, name);
	size_t size;

	/* libbpf's own memory, which it maps into the kernel at load */
	return map ? (void *)bpf_map__initial_value(map, &size) : NULL;
}

/* Maps that files has too are the same maps. */
static int share_maps(const struct any_bpf *bpf, const struct any_bpf *files)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, bpf->object) {
		const struct bpf_map *shared =
			bpf_object__find_map_by_name(files->object, bpf_map__name(map));
		int r;

		if (!shared || bpf_map__is_internal(map))
			continue;
		r = bpf_map__reuse_fd(map, bpf_map__fd(shared));
		if (r < 0)
			return r;
	}
	return 0;
}

/* What all objects are opened with. */
struct opening {
	const struct settings *settings;
	const struct sizing *sizing;
	uint64_t watched_id;
	const struct btf *btf;
};

/* Into @o's items, not yet loaded; only @part of it. */
static int open_object(struct objects *o, enum object_id id, bool is_older, const struct opening *opening,
		       const char *part)
{
	struct settings *its_settings;
	struct watch *watch;
	struct any_bpf *bpf;
	int r = open_skeleton(id, is_older, opening->btf, &bpf);

	if (r < 0)
		return r;
	its_settings = map_value(bpf, ".rodata.settings");
	watch = map_value(bpf, ".data.watch");
	if (its_settings) /* an object that has no use for them has none */
		*its_settings = *opening->settings;
	if (watch)
		watch->id = opening->watched_id;
	choose_programs(o, bpf, opening->btf, part);
	o->items[id] = bpf;
	return 0;
}

static int load_object(struct objects *o, enum object_id id)
{
	struct any_bpf *bpf = o->items[id];
	int r = id > OBJECT_FILES ? share_maps(bpf, o->items[OBJECT_FILES]) : 0;

	o->complaint = (struct complaint){};
	if (r >= 0)
		r = bpf_object__load_skeleton(bpf->skeleton);
	if (r < 0) {
		destroy(bpf);
		o->items[id] = NULL;
	}
	return r;
}

/* Attach each program by itself, so that one refusal costs one hook. */
static void attach_each(struct objects *o, struct any_bpf *bpf)
{
	for (int i = 0; i < bpf->skeleton->prog_cnt; i++) {
		struct bpf_prog_skeleton *program = &bpf->skeleton->progs[i];
		struct hook *hook = objects_find_hook(o, program->name);

		if (!hook || bpf_program__fd(*program->prog) < 0)
			continue; /* was not loaded, and says why */
		*program->link = bpf_program__attach(*program->prog);
		if (*program->link)
			hook->is_on = true;
		else
			snprintf(hook->why, sizeof(hook->why), "cannot attach: %s", strerror(errno));
	}
}

/* A program that does nothing, tried before much is prepared for others of its kind. */
static int try_fentry(const struct btf *btf)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int id = btf ? btf__find_by_name_kind(btf, "security_inode_permission", BTF_KIND_FUNC) : -ENOENT;
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = (unsigned int)id);
	int fd;

	if (id < 0)
		return id;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "try_fentry", "Dual MIT/GPL", nothing,
			   ARRAY_SIZE(nothing), &options);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void prepare_object(struct objects *o, enum object_id id, const struct opening *opening)
{
	int r = id == OBJECT_FENTRY ? try_fentry(opening->btf) : 0;

	o->complaint = (struct complaint){};
	if (r >= 0)
		r = open_object(o, id, false, opening, NULL);
	if (r < 0)
		explain_load(o, id, NULL, r);
}

/* ---- maps ---- */

struct map_list {
	struct bpf_map *maps[MAPS_MAX];
	struct map_form forms[MAPS_MAX];
	size_t count;
};

/* Is it also of the object files, whose maps others share? */
static bool is_shared(const struct objects *o, size_t id, const struct bpf_map *map)
{
	return id > OBJECT_FILES && o->items[OBJECT_FILES] && !bpf_map__is_internal(map) &&
	       bpf_object__find_map_by_name(o->items[OBJECT_FILES]->object, bpf_map__name(map));
}

static struct map_form form_of(const struct bpf_map *map)
{
	struct map_form form = {
		.type = bpf_map__type(map),
		.flags = bpf_map__map_flags(map),
		.key_bytes = bpf_map__key_size(map),
		.value_bytes = bpf_map__value_size(map),
		.entries = bpf_map__max_entries(map),
	};

	snprintf(form.name, sizeof(form.name), "%s", bpf_map__name(map));
	return form;
}

static void list_maps(const struct objects *o, struct map_list *ret)
{
	struct bpf_map *map;

	ret->count = 0;
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		if (!o->items[id])
			continue;
		bpf_object__for_each_map(map, o->items[id]->object) {
			if (is_shared(o, id, map))
				continue;
			assert(ret->count < MAPS_MAX);
			ret->maps[ret->count] = map;
			ret->forms[ret->count++] = form_of(map);
		}
	}
}

/* Of objects that are open and not yet loaded. */
static void size_maps(const struct objects *o, const struct sizing *sizing, struct map_list *list)
{
	list_maps(o, list);
	sizing_choose(sizing, list->forms, list->count);
	for (size_t i = 0; i < list->count; i++) {
		if (list->forms[i].type != BPF_MAP_TYPE_TASK_STORAGE) /* which has no bound */
			bpf_map__set_max_entries(list->maps[i], list->forms[i].entries);
	}
}

static void fill_object_map(const struct map_form *form, unsigned int cpus, int fd,
			    struct object_map *ret)
{
	*ret = (struct object_map){ *form, map_form_bytes(form, cpus), fd };
}

size_t objects_list_maps(const struct objects *o, struct object_map *ret)
{
	struct map_list list;

	list_maps(o, &list);
	for (size_t i = 0; i < list.count; i++)
		fill_object_map(&list.forms[i], sizing_cpus(), bpf_map__fd(list.maps[i]), &ret[i]);
	return list.count;
}

uint64_t objects_map_bytes(const struct objects *o)
{
	struct object_map maps[MAPS_MAX];
	size_t count = objects_list_maps(o, maps);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += maps[i].bytes;
	return sum;
}

int objects_plan(const struct sizing *sizing, struct object_map *ret, size_t *ret_count)
{
	struct objects o = {};
	struct map_list list;
	int r = 0;

	complaint_listen(&o.complaint);
	for (size_t id = 0; id < OBJECT_COUNT && r >= 0; id++) {
		r = open_skeleton((enum object_id)id, false, NULL, &o.items[id]);
	}
	if (r >= 0) {
		size_maps(&o, sizing, &list);
		for (size_t i = 0; i < list.count; i++)
			fill_object_map(&list.forms[i],
					sizing->shape.cpus ? sizing->shape.cpus : sizing_cpus(),
					-EBADF, &ret[i]);
		*ret_count = list.count;
	}
	complaint_stop();
	objects_close(&o);
	return r;
}

/* ---- starting ---- */

static int open_and_load(struct objects *o, enum object_id id, bool is_older,
			 const struct opening *opening, const char *part)
{
	struct map_list list;
	int r = open_object(o, id, is_older, opening, part);

	if (r < 0)
		return r;
	size_maps(o, opening->sizing, &list); /* those of objects that are loaded stay as they are */
	return load_object(o, id);
}

/* Load an object that is open, or its code for older kernels where that for newer ones does not fit.  Who has not
 * the rights has them for neither. */
static int load_either(struct objects *o, enum object_id id, const struct opening *opening)
{
	int r = load_object(o, id);

	if (r >= 0 || r == -EPERM)
		return r;
	r = open_and_load(o, id, true, opening, NULL);
	o->needs_older |= r >= 0;
	return r;
}

static int try_part(struct objects *o, enum object_id id, bool is_older, const struct opening *opening,
		    const char *part)
{
	int r = open_and_load(o, id, is_older, opening, part);

	destroy(o->items[id]);
	o->items[id] = NULL;
	return r;
}

/* Is @hook the first of its object, of those that may still be, that gives what it gives? */
static bool is_first(const struct objects *o, size_t hook)
{
	for (size_t i = 0; i < hook; i++) {
		if (!*o->hooks[i].why && object_of(&o->hooks[i]) == object_of(&o->hooks[hook]) &&
		    strcmp(o->hooks[i].gives, o->hooks[hook].gives) == 0)
			return false;
	}
	return !*o->hooks[hook].why;
}

/* One program that the kernel does not take would cost the whole object: try each thing of T2+ alone, and refuse
 * what fails.  True: something was refused. */
static bool refuse_bad_parts(struct objects *o, enum object_id id, bool is_older,
			     const struct opening *opening)
{
	bool is_any = false;

	for (size_t i = 0; i < o->hook_count; i++) {
		const struct hook *hook = &o->hooks[i];
		int r;

		if (object_of(hook) != id || strcmp(hook->tier, "T2+") != 0 || !is_first(o, i))
			continue;
		r = try_part(o, id, is_older, opening, hook->gives);
		if (r < 0)
			explain_load(o, id, hook->gives, r);
		is_any |= r < 0;
	}
	return is_any;
}

static int load_what_can_be(struct objects *o, enum object_id id, const struct opening *opening)
{
	int r = load_either(o, id, opening);
	const struct complaint of_all = o->complaint;

	if (r >= 0 || r == -EPERM || id < OBJECT_FILES)
		return r;
	o->needs_older = o->needs_older || try_part(o, id, false, opening, "T2") < 0; /* then of others too */
	if (refuse_bad_parts(o, id, o->needs_older, opening))
		return open_and_load(o, id, o->needs_older, opening, NULL);
	o->complaint = of_all;
	return r;
}

static void start_object(struct objects *o, enum object_id id, const struct opening *opening)
{
	int r;

	if (id > OBJECT_FILES && !o->items[OBJECT_FILES]) {
		destroy(o->items[id]);
		o->items[id] = NULL;
		refuse(o, id, NULL, "T2 is off");
		return;
	}
	r = load_what_can_be(o, id, opening);
	if (r < 0)
		explain_load(o, id, NULL, r);
	else
		attach_each(o, o->items[id]);
}

static bool fits(size_t i, const struct btf *btf)
{
	const char *target = target_of(table[i].attach);

	if (table[i].module && !prototype_is_in_module(btf, table[i].module, target))
		return false;
	return !table[i].arguments || prototype_count_arguments(btf, target) == table[i].arguments;
}

/* Is it the first for a tracepoint that is there, and that no program fits? */
static bool stands_for_none(size_t i, const struct btf *btf)
{
	if (!table[i].arguments || prototype_count_arguments(btf, target_of(table[i].attach)) < 0)
		return false;
	for (size_t other = 0; other < ARRAY_SIZE(table); other++) {
		if (strcmp(table[other].attach, table[i].attach) == 0 && (other < i || fits(other, btf)))
			return false;
	}
	return true;
}

/* Of programs for one tracepoint only the one that fits, or where none does the first, which is off. */
static void list_hooks(struct objects *o, const struct btf *btf)
{
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct hook hook = { .tier = table[i].tier,
				     .program = table[i].program,
				     .attach = table[i].attach,
				     .gives = table[i].gives };

		if (stands_for_none(i, btf))
			snprintf(hook.why, sizeof(hook.why), "this kernel's '%s' has other arguments",
				 target_of(hook.attach));
		else if (!fits(i, btf))
			continue;
		o->hooks[o->hook_count++] = hook;
	}
}

static void detach(struct objects *o, const char *program)
{
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		const struct bpf_object_skeleton *skeleton = o->items[id] ? o->items[id]->skeleton : NULL;

		for (int i = 0; skeleton && i < skeleton->prog_cnt; i++) {
			if (strcmp(skeleton->progs[i].name, program) != 0)
				continue;
			bpf_link__destroy(*skeleton->progs[i].link);
			*skeleton->progs[i].link = NULL;
		}
	}
}

static void switch_off(struct objects *o, struct hook *hook, const char *why)
{
	hook->is_on = hook->is_checked = false;
	if (why != hook->why)
		snprintf(hook->why, sizeof(hook->why), "%s", why);
	if (strcmp(hook->tier, "T2+") == 0)
		detach(o, hook->program); /* so that it adds nothing wrong to what T2 counts */
}

/* Programs of which one is worth nothing without the others; NULL ends a list. */
static const char *const libaio_programs[] = { "start_libaio_read", "start_libaio_write",
					       "end_libaio_request", NULL };
static const char *const unposted_programs[] = { "count_unposted_at_once", "count_unposted_later", NULL };

/* Switch all of them off where one is.  True: all are on. */
static bool settle_together(struct objects *o, const char *const *programs)
{
	const struct hook *off = NULL;

	for (size_t i = 0; programs[i] && !off; i++) {
		const struct hook *hook = objects_find_hook(o, programs[i]);

		off = hook->is_on ? NULL : hook;
	}
	for (size_t i = 0; programs[i] && off; i++) {
		struct hook *hook = objects_find_hook(o, programs[i]);

		if (hook->is_on)
			switch_off(o, hook, off->why);
	}
	return !off;
}

static bool is_on(const struct objects *o, const char *program)
{
	const struct hook *hook = objects_find_hook((struct objects *)o, program);

	return hook && hook->is_on;
}

/* Tell the programs of files what others count, so that they need not call it lost. */
static void settle(struct objects *o)
{
	struct watch *watch = o->items[OBJECT_FILES] ? map_value(o->items[OBJECT_FILES], ".data.watch") :
						       NULL;
	bool sees_libaio = settle_together(o, libaio_programs);
	bool sees_skipped = settle_together(o, unposted_programs);

	if (!watch)
		return;
	watch->sees_libaio = sees_libaio;
	watch->sees_places = o->items[OBJECT_FENTRY] != NULL;
	watch->sees_skipped = sees_skipped;
	watch->sees_requests = is_on(o, "count_request_result") || is_on(o, "count_request_entry");
}

void objects_open(unsigned int wanted, const struct settings *settings,
		  const struct sizing *sizing, uint64_t watched_id, struct objects *ret)
{
	struct opening opening = { settings, sizing, watched_id, NULL };
	struct map_list list;
	struct btf *btf;

	*ret = (struct objects){};
	complaint_listen(&ret->complaint);
	opening.btf = btf = wanted ? btf__load_vmlinux_btf() : NULL;
	list_hooks(ret, btf);
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		if (wanted & 1U << id)
			prepare_object(ret, (enum object_id)id, &opening);
		else
			refuse(ret, (enum object_id)id, NULL, "switched off");
	}
	size_maps(ret, sizing, &list);
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		if (ret->items[id])
			start_object(ret, (enum object_id)id, &opening);
	}
	btf__free(btf);
	settle(ret);
	complaint_stop();
}

void objects_disbelieve(struct objects *o, const char *program, const char *why)
{
	struct hook *hook = objects_find_hook(o, program);

	if (!hook || !hook->is_on) /* this kernel has none such, or there is a better reason */
		return;
	switch_off(o, hook, why);
	settle(o);
}

void objects_close(struct objects *o)
{
	for (size_t id = OBJECT_COUNT; id-- > 0;)
		destroy(o->items[id]);
	*o = (struct objects){};
}

struct tasks_bpf *objects_tasks(const struct objects *o)
{
	return (struct tasks_bpf *)o->items[OBJECT_TASKS];
}

struct files_bpf *objects_files(const struct objects *o)
{
	return (struct files_bpf *)o->items[OBJECT_FILES];
}

static void empty_map(const struct bpf_map *map)
{
	char key[64];

	assert(bpf_map__key_size(map) <= sizeof(key));
	while (bpf_map_get_next_key(bpf_map__fd(map), NULL, key) == 0) {
		if (bpf_map_delete_elem(bpf_map__fd(map), key) < 0)
			return;
	}
}

/* A value for each CPU, of which none can be deleted. */
static void zero_map(const struct bpf_map *map)
{
	size_t size = (bpf_map__value_size(map) + 7) / 8 * 8;
	_cleanup_free_ void *zeros = calloc(sizing_cpus(), size);

	for (uint32_t i = 0; zeros && i < bpf_map__max_entries(map); i++)
		(void)bpf_map_update_elem(bpf_map__fd(map), &i, zeros, BPF_ANY);
}

/* Counters that stand until they are read for the last time. */
static const char *const counting_maps[] = { "file_rows", "file_histograms", "other_rows", "task_totals",
					     "leaving_tasks", "lost" };

void objects_watch(struct objects *o, uint64_t id)
{
	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		struct watch *watch = o->items[i] ? map_value(o->items[i], ".data.watch") : NULL;

		if (watch)
			watch->id = id;
	}
	for (size_t i = 0; i <= OBJECT_FILES; i++) {
		for (size_t map = 0; o->items[i] && map < ARRAY_SIZE(counting_maps); map++) {
			const struct bpf_map *found = bpf_object__find_map_by_name(
				o->items[i]->object, counting_maps[map]);

			if (found && bpf_map__type(found) == BPF_MAP_TYPE_PERCPU_ARRAY)
				zero_map(found);
			else if (found)
				empty_map(found);
		}
	}
}

void objects_follow_files(struct objects *o)
{
	struct watch *watch = o->items[OBJECT_FILES] ? map_value(o->items[OBJECT_FILES], ".data.watch") : NULL;

	if (watch)
		watch->is_following = 1;
}

uint64_t objects_skipped_runs(const struct objects *o)
{
	uint64_t sum = 0;

	for (size_t id = OBJECT_FILES; id < OBJECT_COUNT; id++) {
		struct bpf_program *program;

		if (!o->items[id])
			continue;
		bpf_object__for_each_program(program, o->items[id]->object) {
			struct bpf_prog_info info = {};
			uint32_t size = sizeof(info);
			int fd = bpf_program__fd(program);

			if (fd >= 0 && is_trampoline(bpf_program__section_name(program)) &&
			    bpf_obj_get_info_by_fd(fd, &info, &size) == 0)
				sum += info.recursion_misses;
		}
	}
	return sum;
}

int objects_program_fd(const struct objects *o, const char *program)
{
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		const struct bpf_program *found =
			o->items[id] ? bpf_object__find_program_by_name(o->items[id]->object, program) :
				       NULL;

		if (found && bpf_program__fd(found) >= 0)
			return bpf_program__fd(found);
	}
	return -ENOENT;
}
