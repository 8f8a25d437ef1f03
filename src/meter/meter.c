/* SPDX-License-Identifier: MIT */
#include "meter.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "calls.h"
#include "cleanup.h"
#include "collectors/collectors.h"
#include "error.h"
#include "files.skel.h"
#include "lost.h"
#include "macro.h"
#include "tasks.skel.h"

#define ROWS_PER_HISTOGRAM 4 /* one row in so many may have histograms: only reads and writes do */

/* clang-format off */
static const struct hook hook_table[] = {
	{ "T0", "count_freed_task",        "tp_btf/sched_process_free", "totals of ended tasks" },
	{ "T0", "count_exit",              "tp_btf/sched_process_exit", "tasks that ended and are not yet freed" },
	{ "T0", "home_task",               "tp_btf/sched_process_fork", "totals of tasks that move between groups" },
	{ "T0", "move_task",               "tp_btf/cgroup_attach_task", "totals of tasks that move between groups" },
	{ "T0", "read_tasks",              "iter/task",                 "totals of live tasks" },
	{ "T2", "enter_call",              "tp_btf/sys_enter",          "operations on files" },
	{ "T2", "leave_call",              "tp_btf/sys_exit",           "operations on files" },
	{ "T2", "park_call",               "tp_btf/sched_switch",       "time and descriptor of calls that sleep" },
	{ "T2", "forget_call",             "tp_btf/sched_process_exit", "room taken by tasks killed in a call" },
	{ "T2", "settle_interrupted_call", "tp_btf/signal_deliver",     "calls that end with EINTR" },
};
/* clang-format on */

struct meter {
	struct meter_options options;
	struct hook hooks[ARRAY_SIZE(hook_table)];
	struct files_bpf *files;
	struct tasks_bpf *tasks;
	struct mounts mounts; /* as they were at the start */
	char libbpf_says[256];
};

/* libbpf tells its reasons through one hook without a context: the last line is kept for each thread
 * that opens a meter. */
static __thread char *libbpf_line;
static __thread size_t libbpf_line_size;

static int listen_to_libbpf(enum libbpf_print_level level, const char *format, va_list args)
{
	const char *debug = getenv("JOBMETER_DEBUG");

	if (debug && strstr(debug, "bpf"))
		return vfprintf(stderr, format, args);
	if (level == LIBBPF_WARN && libbpf_line) {
		vsnprintf(libbpf_line, libbpf_line_size, format, args);
		libbpf_line[strcspn(libbpf_line, "\n")] = '\0';
	}
	return 0;
}

static struct hook *find_hook(struct meter *m, const char *program)
{
	for (size_t i = 0; i < ARRAY_SIZE(m->hooks); i++) {
		if (strcmp(m->hooks[i].program, program) == 0)
			return &m->hooks[i];
	}
	return NULL;
}

static void refuse_tier(struct meter *m, const char *tier, const char *why)
{
	for (size_t i = 0; i < ARRAY_SIZE(m->hooks); i++) {
		if (strcmp(m->hooks[i].tier, tier) == 0)
			snprintf(m->hooks[i].why, sizeof(m->hooks[i].why), "%s", why);
	}
}

/* In words, where a load of a whole object failed. */
static void refuse_object(struct meter *m, const char *tier, int error_number)
{
	char why[160];

	if (error_number == -EPERM) /* EACCES is the verifier's */
		snprintf(why, sizeof(why), "the kernel does not permit BPF to this user");
	else
		snprintf(why, sizeof(why), "cannot load: %.60s (%.80s)", strerror(-error_number),
			 *m->libbpf_says ? m->libbpf_says : "no reason given");
	refuse_tier(m, tier, why);
}

/* Attach each program of an object by itself, so that one refusal costs one hook. */
static void attach_each(struct meter *m, struct bpf_object_skeleton *skeleton)
{
	for (int i = 0; i < skeleton->prog_cnt; i++) {
		struct bpf_prog_skeleton *program = &skeleton->progs[i];
		struct hook *hook = find_hook(m, program->name);

		if (bpf_program__fd(*program->prog) < 0)
			continue; /* was not loaded, and says why */
		*program->link = bpf_program__attach(*program->prog);
		if (*program->link)
			hook->is_on = true;
		else
			snprintf(hook->why, sizeof(hook->why), "cannot attach: %s", strerror(errno));
	}
}

/* The kernel's own number of a controller, which its configuration makes; -1: v2, or unknown. */
static int find_subsys(const struct hierarchy *h)
{
	const struct btf_type *type;
	struct btf *btf;
	char name[32];
	int id, number = -1;

	if (!h || h->is_v2)
		return -1;
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return -1;
	snprintf(name, sizeof(name), "%s_cgrp_id", controller_name(h->key));
	id = btf__find_by_name_kind(btf, "cgroup_subsys_id", BTF_KIND_ENUM);
	type = id < 0 ? NULL : btf__type_by_id(btf, (unsigned int)id);
	for (unsigned int i = 0; type && i < btf_vlen(type); i++) {
		if (strcmp(btf__name_by_offset(btf, btf_enum(type)[i].name_off), name) == 0)
			number = btf_enum(type)[i].val;
	}
	btf__free(btf);
	return number;
}

static int load_tasks(struct meter *m, int subsys)
{
	m->tasks = tasks_bpf__open();
	if (!m->tasks)
		return -errno;
	m->tasks->rodata->key_subsys = subsys;
	m->tasks->bss->watched_id = m->options.watched_id;
	return tasks_bpf__load(m->tasks);
}

static int load_files(struct meter *m, int subsys)
{
	size_t rows = m->options.rows_max ? m->options.rows_max : 8192;

	m->files = files_bpf__open();
	if (!m->files)
		return -errno;
	m->files->rodata->key_subsys = subsys;
	m->files->bss->watched_id = m->options.watched_id;
	m->files->rodata->has_clock = m->options.has_clock;
	m->files->rodata->has_histograms = m->options.has_histograms;
	calls_fill((struct call_kind *)m->files->rodata->call_kinds);
	bpf_map__set_max_entries(m->files->maps.file_rows, (unsigned int)rows);
	bpf_map__set_max_entries(m->files->maps.file_histograms,
				 m->options.has_histograms ?
					 (unsigned int)MAX(rows / ROWS_PER_HISTOGRAM, (size_t)1) :
					 1);
	return files_bpf__load(m->files);
}

static void start_tasks(struct meter *m, int subsys)
{
	int r = load_tasks(m, subsys);

	if (r >= 0) {
		attach_each(m, m->tasks->skeleton);
		return;
	}
	refuse_object(m, "T0", r);
	tasks_bpf__destroy(m->tasks);
	m->tasks = NULL;
}

static void start_files(struct meter *m, int subsys)
{
	int r = load_files(m, subsys);

	if (r >= 0) {
		attach_each(m, m->files->skeleton);
		return;
	}
	refuse_object(m, "T2", r);
	files_bpf__destroy(m->files);
	m->files = NULL;
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

void meter_watch(struct meter *m, uint64_t id)
{
	m->options.watched_id = id;
	if (m->files) {
		m->files->bss->watched_id = id;
		empty_map(m->files->maps.file_rows);
		empty_map(m->files->maps.file_histograms);
	}
	if (m->tasks) {
		m->tasks->bss->watched_id = id;
		empty_map(m->tasks->maps.task_totals);
		empty_map(m->tasks->maps.leaving_tasks);
	}
}

void meter_disbelieve(struct meter *m, const char *program, const char *format, ...)
{
	struct hook *hook = find_hook(m, program);
	va_list args;

	assert(hook);
	hook->is_on = false;
	va_start(args, format);
	vsnprintf(hook->why, sizeof(hook->why), format, args);
	va_end(args);
}

int meter_open(const struct meter_options *options, struct meter **ret)
{
	_cleanup_(meter_closep) struct meter *m = calloc(1, sizeof(*m));
	libbpf_print_fn_t before;
	int subsys;

	if (!m)
		return -ENOMEM;
	m->options = *options;
	memcpy(m->hooks, hook_table, sizeof(hook_table));
	(void)mounts_read(options->root_fd, "self", &m->mounts, NULL);
	before = libbpf_set_print(listen_to_libbpf);
	libbpf_line = m->libbpf_says;
	libbpf_line_size = sizeof(m->libbpf_says);
	subsys = options->tiers ? find_subsys(options->hierarchy) : -1;
	if (options->tiers & METER_T0)
		start_tasks(m, subsys);
	else
		refuse_tier(m, "T0", "switched off");
	if (options->tiers & METER_T2)
		start_files(m, subsys);
	else
		refuse_tier(m, "T2", "switched off");
	libbpf_line = NULL;
	libbpf_set_print(before);
	*ret = TAKE_PTR(m);
	return 0;
}

struct meter *meter_close(struct meter *m)
{
	if (!m)
		return NULL;
	files_bpf__destroy(m->files);
	tasks_bpf__destroy(m->tasks);
	mounts_clear(&m->mounts);
	free(m);
	return NULL;
}

void meter_closep(struct meter **m)
{
	meter_close(*m);
}

const struct hook *meter_hooks(const struct meter *m, size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(m->hooks);
	return m->hooks;
}

bool meter_has_tier(const struct meter *m, enum meter_tier tier)
{
	const char *name = tier == METER_T0 ? "T0" : "T2";

	for (size_t i = 0; i < ARRAY_SIZE(m->hooks); i++) {
		if (strcmp(m->hooks[i].tier, name) == 0 && !m->hooks[i].is_on)
			return false;
	}
	return true;
}

static bool is_on(const struct meter *m, const char *program)
{
	const struct hook *hook = find_hook((struct meter *)m, program);

	return hook && hook->is_on;
}

/* Mounts as they are now, and those of the start that have gone since. */
static void refresh_mounts(struct meter *m)
{
	struct mounts now;

	if (mounts_read(m->options.root_fd, "self", &now, NULL) < 0)
		return;
	for (size_t i = 0; i < m->mounts.count; i++) {
		if (!mounts_find(&now, m->mounts.items[i].device)) {
			mounts_clear(&now); /* keep what still has the names of all */
			return;
		}
	}
	mounts_clear(&m->mounts);
	m->mounts = now;
}

int meter_read(struct meter *m, struct reading *ret, struct error *err)
{
	int r = 0;

	if (m->tasks && is_on(m, "count_freed_task"))
		r = collect_tasks(m->tasks, ret);
	if (r >= 0 && m->files && is_on(m, "leave_call")) {
		refresh_mounts(m);
		r = collect_files(m->files, &m->mounts, m->options.has_clock,
				  m->options.has_histograms, ret);
	}
	if (r < 0)
		return error_set_errno(err, r, "cannot read the kernel side's counters");
	return 0;
}

int meter_settle(struct meter *m, int timeout_ms)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	if (!m->tasks || !is_on(m, "count_freed_task") || !is_on(m, "count_exit"))
		return 0;
	for (int waited = 0; waited < timeout_ms; waited++) {
		if (tasks_are_settled(m->tasks))
			return 0;
		nanosleep(&pause, NULL);
	}
	return -ETIMEDOUT;
}

static uint64_t sum_lost(int fd, uint32_t reason)
{
	int cpus = libbpf_num_possible_cpus();
	_cleanup_free_ uint64_t *per_cpu = cpus > 0 ? calloc((size_t)cpus, sizeof(uint64_t)) : NULL;
	uint64_t sum = 0;

	if (!per_cpu || bpf_map_lookup_elem(fd, &reason, per_cpu) < 0)
		return 0;
	for (int cpu = 0; cpu < cpus; cpu++)
		sum += per_cpu[cpu];
	return sum;
}

uint64_t meter_lost(const struct meter *m, unsigned int reason)
{
	uint64_t sum = 0;

	if (m->files)
		sum += sum_lost(bpf_map__fd(m->files->maps.lost), reason);
	if (m->tasks)
		sum += sum_lost(bpf_map__fd(m->tasks->maps.lost), reason);
	return sum;
}

static uint64_t object_map_bytes(const struct bpf_object *object)
{
	const struct bpf_map *map;
	uint64_t sum = 0;

	bpf_object__for_each_map(map, object) {
		uint64_t value = bpf_map__value_size(map), copies = 1;

		if (bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_ARRAY)
			copies = (uint64_t)libbpf_num_possible_cpus();
		if (bpf_map__type(map) == BPF_MAP_TYPE_HASH)
			value += bpf_map__key_size(map) + 48; /* the kernel's struct htab_elem */
		sum += value * copies * bpf_map__max_entries(map);
	}
	return sum;
}

uint64_t meter_map_bytes(const struct meter *m)
{
	return (m->files ? object_map_bytes(m->files->obj) : 0) +
	       (m->tasks ? object_map_bytes(m->tasks->obj) : 0);
}

int meter_program_fd(const struct meter *m, const char *program)
{
	struct bpf_program *found = NULL;

	if (m->files)
		found = bpf_object__find_program_by_name(m->files->obj, program);
	if (!found && m->tasks)
		found = bpf_object__find_program_by_name(m->tasks->obj, program);
	return found ? bpf_program__fd(found) : -ENOENT;
}
