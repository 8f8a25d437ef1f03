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

#include "cleanup.h"
#include "macro.h"
#include "settings.h"
#include "skeletons.h"

/* ---- what is common ---- */

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
	hooks_refuse(&o->hooks, id, part, why);
}

/* Programs that do not fit this kernel, or were refused, are not loaded, nor those that are not of @part. */
static void choose_programs(struct objects *o, const struct any_bpf *bpf, const struct btf *btf,
			    const char *part)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, bpf->object) {
		const char *name = bpf_program__name(program);
		struct hook *hook = hooks_find(&o->hooks, name);

		if (hook && !*hook->why && !hook_has_target(hook, btf))
			snprintf(hook->why, sizeof(hook->why), "this kernel has no function '%s'",
				 hook_target(hook));
		if (!hook || *hook->why || !hook_is_part(hook, part))
			bpf_program__set_autoload(program, false);
	}
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
	int r = skeleton_open(id, is_older, opening->btf, &bpf);

	if (r < 0)
		return r;
	its_settings = skeleton_map_value(bpf, ".rodata.settings");
	watch = skeleton_map_value(bpf, ".data.watch");
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
		skeleton_close(bpf);
		o->items[id] = NULL;
	}
	return r;
}

/* Attach each program by itself, so that one refusal costs one hook. */
static void attach_each(struct objects *o, struct any_bpf *bpf)
{
	for (int i = 0; i < bpf->skeleton->prog_cnt; i++) {
		struct bpf_prog_skeleton *program = &bpf->skeleton->progs[i];
		struct hook *hook = hooks_find(&o->hooks, program->name);

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
		r = skeleton_open((enum object_id)id, false, NULL, &o.items[id]);
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

	skeleton_close(o->items[id]);
	o->items[id] = NULL;
	return r;
}

/* One program that the kernel does not take would cost the whole object: try each thing of T2+ alone, and refuse
 * what fails.  True: something was refused. */
static bool refuse_bad_parts(struct objects *o, enum object_id id, bool is_older,
			     const struct opening *opening)
{
	bool is_any = false;

	for (size_t i = 0; i < o->hooks.count; i++) {
		const struct hook *hook = &o->hooks.items[i];
		int r;

		if (hook_object(hook) != id || strcmp(hook->tier, "T2+") != 0 || !hooks_is_first(&o->hooks, i))
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
		skeleton_close(o->items[id]);
		o->items[id] = NULL;
		hooks_refuse(&o->hooks, id, NULL, "T2 is off");
		return;
	}
	r = load_what_can_be(o, id, opening);
	if (r < 0)
		explain_load(o, id, NULL, r);
	else
		attach_each(o, o->items[id]);
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
		const struct hook *hook = hooks_find(&o->hooks, programs[i]);

		off = hook->is_on ? NULL : hook;
	}
	for (size_t i = 0; programs[i] && off; i++) {
		struct hook *hook = hooks_find(&o->hooks, programs[i]);

		if (hook->is_on)
			switch_off(o, hook, off->why);
	}
	return !off;
}

/* Tell the programs of files what others count, so that they need not call it lost. */
static void settle(struct objects *o)
{
	struct watch *watch = o->items[OBJECT_FILES] ? skeleton_map_value(o->items[OBJECT_FILES], ".data.watch") :
						       NULL;
	bool sees_libaio = settle_together(o, libaio_programs);
	bool sees_skipped = settle_together(o, unposted_programs);

	if (!watch)
		return;
	watch->sees_libaio = sees_libaio;
	watch->sees_places = o->items[OBJECT_FENTRY] != NULL;
	watch->sees_skipped = sees_skipped;
	watch->sees_requests = hooks_is_on(&o->hooks, "count_request_result") || hooks_is_on(&o->hooks, "count_request_entry");
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
	hooks_list(btf, &ret->hooks);
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		if (wanted & 1U << id)
			prepare_object(ret, (enum object_id)id, &opening);
		else
			hooks_refuse(&ret->hooks, (enum object_id)id, NULL, "switched off");
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
	struct hook *hook = hooks_find(&o->hooks, program);

	if (!hook || !hook->is_on) /* this kernel has none such, or there is a better reason */
		return;
	switch_off(o, hook, why);
	settle(o);
}

void objects_close(struct objects *o)
{
	for (size_t id = OBJECT_COUNT; id-- > 0;)
		skeleton_close(o->items[id]);
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
		struct watch *watch = o->items[i] ? skeleton_map_value(o->items[i], ".data.watch") : NULL;

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
	struct watch *watch = o->items[OBJECT_FILES] ? skeleton_map_value(o->items[OBJECT_FILES], ".data.watch") : NULL;

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

			const struct hook *hook = hooks_find((struct hooks *)&o->hooks, bpf_program__name(program));

			if (fd >= 0 && hook && hook_is_trampoline(hook) &&
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
