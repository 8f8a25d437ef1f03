/* SPDX-License-Identifier: MIT */
#include "load/objects.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/syscall.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "bpf/groups.h"
#include "basic/macro.h"
#include "load/pinned.h"
#include "bpf/tasks.h"
#include "bpf/settings.h"
#include "load/skeletons.h"
#include "load/sizing.h"

/* ---- clocks ---- */

/* A clock of a CPU, which runs a BPF program at a fixed interval. */
static int start_clock(unsigned int cpu, int program_fd, uint64_t interval_ns, int *ret)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = interval_ns,
		.disabled = true,
		.exclude_idle = true,
	};
	_cleanup_close_ int fd = (int)syscall(SYS_perf_event_open, &attributes, -1, (int)cpu, -1,
					      PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -errno;
	*ret = TAKE_FD(fd);
	return 0;
}

static void cpu_clocks_stop(struct cpu_clocks *c)
{
	while (c->count > 0)
		close(c->fds[--c->count]);
	free(c->fds);
	*c = (struct cpu_clocks){};
}

/* -ENODEV, -EACCES and what else perf_event_open(2) says: then there is none. */
static int cpu_clocks_start(int program_fd, uint64_t interval_ns, struct cpu_clocks *ret)
{
	unsigned int cpus = sizing_cpus();
	struct cpu_clocks c = { .fds = calloc(cpus, sizeof(*c.fds)) };
	int r = c.fds ? 0 : -ENOMEM;

	for (unsigned int cpu = 0; cpu < cpus && r >= 0; cpu++) {
		r = start_clock(cpu, program_fd, interval_ns, &c.fds[c.count]);
		if (r >= 0)
			c.count++;
		else if (r == -ENODEV) /* that CPU is offline */
			r = 0;
	}
	if (r >= 0 && !c.count)
		r = -ENODEV;
	if (r < 0)
		cpu_clocks_stop(&c);
	else
		*ret = c;
	return r;
}

/* ---- from libbpf's hands into ours ---- */

static struct attachment *attachment_of(struct objects *o, const struct hook *hook)
{
	return &o->attachments[hook - o->hooks.items];
}

static int copy_fd(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return copy < 0 ? -errno : copy;
}

int objects_add_map(struct objects *o, enum object_id id, const struct map_form *form, int fd)
{
	void *watch;

	if (fd < 0)
		return fd;
	assert(o->map_count < MAPS_MAX);
	o->maps[o->map_count++] = (struct object_map){ *form, map_form_bytes(form, sizing_cpus()),
						       fd, id };
	if (strcmp(form->name, ".data.watch") != 0)
		return 0;
	/* Programs read it at each event: so it is written where they see it, each value at once.
	 */
	watch = mmap(NULL, sizeof(struct watch), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (watch == MAP_FAILED)
		return -errno;
	o->watches[id] = watch;
	return 0;
}

static int take_maps(struct objects *o, enum object_id id, const struct loading *l)
{
	struct map_list list;
	int r = 0;

	maps_list(l->items, &list);
	for (size_t i = 0; i < list.count && r >= 0; i++) {
		if (list.objects[i] == id)
			r = objects_add_map(o, id, &list.forms[i],
					    copy_fd(bpf_map__fd(list.maps[i])));
	}
	return r;
}

/* The clocks end with the process: one that takes the program over has to start its own. */
static void start_clocks(struct objects *o, struct hook *hook)
{
	int r = cpu_clocks_start(attachment_of(o, hook)->program_fd, SPIN_SAMPLE_NS, &o->clocks);

	hook->is_on = r >= 0;
	if (r < 0)
		snprintf(hook->why, sizeof(hook->why), "cannot start a clock of each CPU: %s",
			 strerror(-r));
}

/* Attach each program by itself, so that one refusal costs one hook. */
static void attach(struct objects *o, struct hook *hook, const struct bpf_program *program)
{
	struct attachment *attachment = attachment_of(o, hook);
	struct bpf_link *link;

	if (hook_is_sampler(hook)) {
		start_clocks(o, hook);
		return;
	}
	link = hook_is_iterator(hook) ? bpf_program__attach_iter(program, NULL)
				      : bpf_program__attach_trace(program);
	if (!link) {
		snprintf(hook->why, sizeof(hook->why), "cannot attach: %s", strerror(errno));
		return;
	}
	attachment->link_fd = bpf_link__fd(link);
	bpf_link__disconnect(link); /* so that libbpf leaves the descriptor to us */
	bpf_link__destroy(link);
	hook->is_on = true;
}

static void attach_each(struct objects *o, const struct any_bpf *bpf)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, bpf->object)
	{
		struct hook *hook = hooks_find(&o->hooks, bpf_program__name(program));
		int fd;

		if (!hook || bpf_program__fd(program) < 0)
			continue; /* was not loaded, and says why */
		fd = copy_fd(bpf_program__fd(program));
		attachment_of(o, hook)->program_fd = fd;
		if (fd < 0)
			snprintf(hook->why, sizeof(hook->why), "cannot attach: %s", strerror(-fd));
		else
			attach(o, hook, program);
	}
}

static void start_object(struct objects *o, enum object_id id, struct loading *l)
{
	const struct any_bpf *bpf = loading_load(l, id);
	char why[160];
	int r;

	if (!bpf)
		return;
	r = take_maps(o, id, l);
	if (r >= 0) {
		attach_each(o, bpf);
		return;
	}
	snprintf(why, sizeof(why), "cannot keep its maps: %s", strerror(-r));
	hooks_refuse(&o->hooks, id, NULL, why);
}

/* ---- hooks ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -EBADF;
}

static void switch_off(struct objects *o, struct hook *hook, const char *why)
{
	hook->is_on = hook->is_checked = false;
	if (why != hook->why)
		snprintf(hook->why, sizeof(hook->why), "%s", why);
	if (strcmp(hook->tier, "T2+") == 0) { /* so that T2 stays right without it */
		if (hook_is_sampler(hook))
			cpu_clocks_stop(&o->clocks);
		close_fd(&attachment_of(o, hook)->link_fd);
	}
	pinned_note(o, hook); /* which removes the link's pin */
}

/* Programs of which one is worth nothing without the others; NULL ends a list. */
static const char *const libaio_programs[] = { "start_libaio_read", "start_libaio_write",
					       "end_libaio_request", NULL };
static const char *const unposted_programs[] = { "count_unposted_at_once", "count_unposted_later",
						 NULL };

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

bool objects_has_program(const struct objects *o, enum object_id id)
{
	for (size_t i = 0; i < o->hooks.count; i++) {
		if (o->hooks.items[i].object == id && o->attachments[i].program_fd >= 0)
			return true;
	}
	return false;
}

/* Without births groups cannot be counted separately. */
static void settle_groups(struct objects *o)
{
	bool sees_groups = hooks_is_on(&o->hooks, "begin_group") &&
			   hooks_is_on(&o->hooks, "end_group");

	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		if (o->watches[id])
			o->watches[id]->sees_groups = sees_groups;
	}
}

/* How much one group may take of what all share. */
static void set_shares(struct objects *o, const struct sizing *sizing)
{
	static const struct {
		const char *map;
		enum share share;
	} shared[] = {
		{ "file_rows", SHARE_ROWS },	      { "file_histograms", SHARE_HISTOGRAMS },
		{ "superblocks", SHARE_SUPERBLOCKS }, { "syscalls_by_cgroup", SHARE_SYSCALLS },
		{ "followed_files", SHARE_FILES },    { "followed_counts", SHARE_FILE_COUNTS },
		{ "open_files", SHARE_OPEN_FILES },
	};
	uint32_t shares[SHARES] = { [SHARE_GROUPS] = GROUPS_OF_ONE };

	for (size_t i = 0; i < o->map_count; i++) {
		const struct map_form *form = &o->maps[i].form;

		for (size_t k = 0; k < ARRAY_SIZE(shared); k++) {
			if (strcmp(form->name, shared[k].map) == 0)
				shares[shared[k].share] = sizing_share(form->name, form->entries,
								       &sizing->shape);
		}
	}
	shares[SHARE_OTHER_ROWS] = shares[SHARE_ROWS] / 4;
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		if (o->watches[id])
			memcpy(o->watches[id]->shares, shares, sizeof(shares));
	}
}

/* Tell the programs of files what others count, and so is not lost. */
static void settle(struct objects *o)
{
	struct watch *watch = o->watches[OBJECT_FILES];
	bool sees_libaio = settle_together(o, libaio_programs);
	bool sees_skipped = settle_together(o, unposted_programs);

	settle_groups(o);
	if (!watch)
		return;
	watch->sees_libaio = sees_libaio;
	watch->sees_places = objects_has_program(o, OBJECT_FENTRY);
	watch->sees_skipped = sees_skipped;
	watch->sees_connections = hooks_is_on(&o->hooks, "end_connection");
	watch->sees_requests = hooks_is_on(&o->hooks, "count_request_result") ||
			       hooks_is_on(&o->hooks, "count_request_entry");
}

static void start(struct objects *o, struct loading *l)
{
	for (size_t id = 0; id < OBJECT_COUNT; id++)
		start_object(o, (enum object_id)id, l);
	o->older = l->older;
	set_shares(o, l->opening->sizing);
	settle(o);
}

static int settle_pins(struct objects *o, const char *pin_dir, const struct loading *l,
		       struct error *err)
{
	int r = pins_make_root(pin_dir, err);

	if (r < 0)
		return r;
	r = pinned_settle(o, pin_dir, l);
	if (r < 0)
		return error_set_errno(err, r, "cannot remove what is pinned in '%s'", pin_dir);
	return 0;
}

static void pin(struct objects *o, const char *pin_dir, struct error *err)
{
	int r = pinned_make(o);

	if (r >= 0)
		return;
	error_set_errno(err, r, "cannot pin programs and maps in '%s'", pin_dir);
	o->pins = (struct pins){};
	pins_remove_root(pin_dir);
}

void objects_open(const struct opening *opening, struct error *pin_error, struct objects *ret)
{
	struct loading loading;
	int r = -ENOENT;

	*ret = (struct objects){ .pinned_hooks_fd = -EBADF };
	*pin_error = (struct error){};
	/* Parts on demand that are not requested are not listed as off. */
	hooks_list(opening->types,
		   (1U << OBJECT_SYSCALLS & ~opening->wanted) |
			   (opening->settings->has_groups ? 0 : 1U << OBJECT_LIFE),
		   &ret->hooks);
	for (size_t i = 0; i < ret->hooks.count; i++)
		ret->attachments[i] = (struct attachment){ -EBADF, -EBADF };
	loading_prepare(opening, &ret->hooks, &loading);
	if (opening->pin_dir)
		r = settle_pins(ret, opening->pin_dir, &loading, pin_error);
	if (r < 0 && !ret->is_taken_over)
		ret->pins = (struct pins){};
	if (!ret->is_taken_over)
		start(ret, &loading);
	else if (hooks_is_on(&ret->hooks, "sample_task"))
		start_clocks(ret, hooks_find(&ret->hooks, "sample_task"));
	if (*ret->pins.path && !ret->is_taken_over)
		pin(ret, opening->pin_dir, pin_error);
	loading_clear(&loading);
}

void objects_believe(struct objects *o, const char *program)
{
	struct hook *hook = hooks_find(&o->hooks, program);

	if (!hook)
		return;
	hook->is_checked = hook->is_on;
	pinned_note(o, hook);
}

void objects_disbelieve(struct objects *o, const char *program, const char *why)
{
	struct hook *hook = hooks_find(&o->hooks, program);

	if (!hook || !hook->is_on) /* this kernel has none such, or there is a better reason */
		return;
	switch_off(o, hook, why);
	settle(o);
}

void objects_let_go(struct objects *o)
{
	cpu_clocks_stop(&o->clocks);
	for (size_t i = o->hooks.count; i-- > 0;) {
		close_fd(&o->attachments[i].link_fd);
		close_fd(&o->attachments[i].program_fd);
	}
	for (size_t i = 0; i < o->map_count; i++)
		close_fd(&o->maps[i].fd);
	o->map_count = 0;
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		if (o->watches[id])
			munmap(o->watches[id], sizeof(*o->watches[id]));
		o->watches[id] = NULL;
	}
	close_fd(&o->pinned_hooks_fd);
}

void objects_close(struct objects *o)
{
	if (*o->pins.path && !(o->is_kept && o->pinned_hooks_fd >= 0)) {
		(void)pins_remove(&o->pins);
		*strrchr(o->pins.path, '/') = '\0';
		pins_remove_root(o->pins.path);
	}
	objects_let_go(o);
	*o = (struct objects){ .pinned_hooks_fd = -EBADF };
}

/* ---- maps ---- */

const struct object_map *objects_find_map(const struct objects *o, enum object_id id,
					  const char *map)
{
	for (size_t i = 0; i < o->map_count; i++) {
		if (o->maps[i].object == id && strcmp(o->maps[i].form.name, map) == 0)
			return &o->maps[i];
	}
	return NULL;
}

int objects_map_fd(const struct objects *o, enum object_id id, const char *map)
{
	const struct object_map *found = objects_find_map(o, id, map);

	return found ? found->fd : -ENOENT;
}

struct entries objects_entries(const struct objects *o, enum object_id id, const char *map)
{
	const struct object_map *found = objects_find_map(o, id, map);

	return found ? entries_begin(found->fd, found->form.key_bytes, found->form.value_bytes)
		     : entries_begin(-ENOENT, 0, 0);
}

static void empty_map(const struct object_map *map)
{
	char key[64];

	assert(map->form.key_bytes <= sizeof(key));
	while (bpf_map_get_next_key(map->fd, NULL, key) == 0) {
		if (bpf_map_delete_elem(map->fd, key) < 0)
			return;
	}
}

/* A value for each CPU, of which none can be deleted. */
static void zero_map(const struct object_map *map)
{
	size_t size = (map->form.value_bytes + 7) / 8 * 8;
	_cleanup_free_ void *zeros = calloc(sizing_cpus(), size);

	for (uint32_t i = 0; zeros && i < map->form.entries; i++)
		(void)bpf_map_update_elem(map->fd, &i, zeros, BPF_ANY);
}

/* clang-format off */
/* Counters that are kept until they are read for the last time. */
static const char *const counting_maps[] = {
	"file_rows", "file_histograms", "other_rows", "task_totals", "task_times",
	"leaving_tasks", "polls", "traffic_rows", "block_rows", "syscall_rows", "lost",
	"lost_by_cgroup", "syscalls_by_cgroup", "followed_names", "followed_files",
	"followed_counts", "unfollowed_by_cgroup", "open_files",
};
/* clang-format on */

bool objects_begin_epoch(const struct objects *o)
{
	bool has_missed = false;

	for (size_t i = 0; i < OBJECT_COUNT; i++) {
		struct watch *watch = o->watches[i];

		if (!watch)
			continue;
		__atomic_store_n(&watch->epoch, watch->epoch + 1, __ATOMIC_SEQ_CST);
		has_missed |= __atomic_exchange_n(&watch->has_missed, 0, __ATOMIC_SEQ_CST);
	}
	return has_missed;
}

void objects_forget_counts(struct objects *o)
{
	for (size_t i = 0; i < o->map_count; i++) {
		size_t k = 0;

		while (k < ARRAY_SIZE(counting_maps) &&
		       strcmp(o->maps[i].form.name, counting_maps[k]) != 0)
			k++;
		if (k == ARRAY_SIZE(counting_maps))
			continue;
		if (o->maps[i].form.type == BPF_MAP_TYPE_PERCPU_ARRAY)
			zero_map(&o->maps[i]);
		else
			empty_map(&o->maps[i]);
	}
}

int objects_plan(const struct sizing *sizing, struct object_map *ret, size_t *ret_count)
{
	unsigned int cpus = sizing->shape.cpus ? sizing->shape.cpus : sizing_cpus();
	size_t end = sizing->shape.names_syscalls ? OBJECT_SYSCALLS + 1 : OBJECT_SYSCALLS;
	struct any_bpf *items[OBJECT_COUNT] = {};
	struct complaint complaint;
	struct map_list list;
	int r = 0;

	complaint_listen(&complaint);
	for (size_t id = 0; id < end && r >= 0; id++)
		r = skeleton_open((enum object_id)id, false, NULL, NULL, &items[id]);
	if (r >= 0) {
		maps_size(items, sizing, &list);
		for (size_t i = 0; i < list.count; i++)
			ret[i] = (struct object_map){ list.forms[i],
						      map_form_bytes(&list.forms[i], cpus), -EBADF,
						      list.objects[i] };
		*ret_count = list.count;
	}
	complaint_stop();
	for (size_t id = 0; id < OBJECT_COUNT; id++)
		skeleton_close(items[id]);
	return r;
}

size_t objects_count_entries(const struct objects *o, enum object_id id, const char *name)
{
	_cleanup_(entries_end) struct entries e = objects_entries(o, id, name);
	size_t count = 0;

	while (entries_next(&e) > 0)
		count++;
	return count;
}

/* ---- programs ---- */

static const struct attachment *find_attachment(const struct objects *o, const char *program)
{
	const struct hook *hook = hooks_find((struct hooks *)&o->hooks, program);

	return hook ? attachment_of((struct objects *)o, hook) : NULL;
}

int objects_program_fd(const struct objects *o, const char *program)
{
	const struct attachment *found = find_attachment(o, program);

	return found && found->program_fd >= 0 ? found->program_fd : -ENOENT;
}

int objects_link_fd(const struct objects *o, const char *program)
{
	const struct attachment *found = find_attachment(o, program);

	return found && found->link_fd >= 0 ? found->link_fd : -ENOENT;
}

int objects_iterate(const struct objects *o, const char *program)
{
	int link = objects_link_fd(o, program);
	_cleanup_close_ int fd = -EBADF;
	char nothing[64];
	ssize_t n;

	if (link < 0)
		return 0;
	fd = bpf_iter_create(link);
	if (fd < 0)
		return fd;
	do
		n = read(fd, nothing, sizeof(nothing));
	while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	return n < 0 ? -errno : 0;
}
