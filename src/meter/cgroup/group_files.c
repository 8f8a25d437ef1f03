/* SPDX-License-Identifier: MIT */
#include "cgroup/group_files.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "cgroup/group.h"
#include "basic/macro.h"
#include "basic/parse.h"

/* clang-format off */
const struct group_field group_fields[] = {
	{ CONTROLLER_MEMORY, "memory.usage_in_bytes", NULL, "memory.current", NULL, 1, 1, METRIC_MEMORY_USAGE, false, false, NULL, NULL },
	{ CONTROLLER_MEMORY, "memory.max_usage_in_bytes", NULL, "memory.peak", NULL, 1, 1, METRIC_MEMORY_PEAK, false, false, "5.19", NULL },
	{ CONTROLLER_MEMORY, "memory.oom_control", "oom_kill", "memory.events", "oom_kill", 1, 1, METRIC_MEMORY_OOM_KILLS, false, true, NULL, NULL },
	{ CONTROLLER_MEMORY, "memory.failcnt", NULL, "memory.events", "max", 1, 1, METRIC_MEMORY_LIMIT_HITS, false, false, NULL, NULL },
	{ CONTROLLER_MEMORY, NULL, NULL, "memory.events", "high", 1, 1, METRIC_MEMORY_HIGH_HITS, false, false, NULL, NULL },
	{ CONTROLLER_MEMORY, NULL, NULL, "memory.events", "oom", 1, 1, METRIC_MEMORY_LIMIT_FAILURES, false, false, NULL, NULL },
	{ CONTROLLER_MEMORY, "memory.stat", "total_pgmajfault", "memory.stat", "pgmajfault", 1, 1, METRIC_MEMORY_MAJOR_FAULTS, true, false, NULL, NULL },
	{ CONTROLLER_MEMORY, "memory.stat", "total_rss", "memory.stat", "anon", 1, 1, METRIC_MEMORY_ANON_PEAK, false, false, NULL, NULL, true },
	{ CONTROLLER_MEMORY, "memory.stat", "total_cache", "memory.stat", "file", 1, 1, METRIC_MEMORY_FILE_PEAK, false, false, NULL, NULL, true },
	{ CONTROLLER_MEMORY, "memory.stat", "total_shmem", "memory.stat", "shmem", 1, 1, METRIC_MEMORY_SHMEM_PEAK, false, false, NULL, NULL, true },
	{ CONTROLLER_MEMORY, "memory.kmem.usage_in_bytes", NULL, "memory.stat", "kernel", 1, 1, METRIC_MEMORY_KERNEL_PEAK, false, false, "5.18", NULL, true },
	{ CONTROLLER_CPU, "cpu.stat", "throttled_time", "cpu.stat", "throttled_usec", 1, 1000, METRIC_CPU_THROTTLED, false, false, NULL, NULL },
	{ CONTROLLER_CPUACCT, "cpuacct.usage_user", NULL, "cpu.stat", "user_usec", 1, 1000, METRIC_CPU_USER, true, false, NULL, NULL },
	{ CONTROLLER_CPUACCT, "cpuacct.usage_sys", NULL, "cpu.stat", "system_usec", 1, 1000, METRIC_CPU_SYSTEM, true, false, NULL, NULL },
	{ CONTROLLER_CPU, NULL, NULL, "cpu.pressure", "some", 1, 1000, METRIC_PRESSURE_CPU_WAITING, false, false, "4.20", "total" },
	{ CONTROLLER_CPU, NULL, NULL, "cpu.pressure", "full", 1, 1000, METRIC_PRESSURE_CPU_STALLED, false, false, "5.13", "total" },
	{ CONTROLLER_CPU, NULL, NULL, "io.pressure", "some", 1, 1000, METRIC_PRESSURE_IO_WAITING, false, false, "4.20", "total" },
	{ CONTROLLER_CPU, NULL, NULL, "io.pressure", "full", 1, 1000, METRIC_PRESSURE_IO_STALLED, false, false, "4.20", "total" },
	{ CONTROLLER_MEMORY, NULL, NULL, "memory.pressure", "some", 1, 1000, METRIC_PRESSURE_MEMORY_WAITING, false, false, "4.20", "total" },
	{ CONTROLLER_MEMORY, NULL, NULL, "memory.pressure", "full", 1, 1000, METRIC_PRESSURE_MEMORY_STALLED, false, false, "4.20", "total" },
};
/* clang-format on */

#define FIELD_COUNT ARRAY_SIZE(group_fields)
const size_t group_field_count = FIELD_COUNT;

#define TEXT_SIZE 8192 /* memory.stat, the longest, has some 2,000 bytes */
#define NUMBER_SIZE 64
#define PATH_SIZE 4096
#define SEARCH_PERIOD 64 /* readings */
#define LIMIT_PERIOD 16

/* In the place of a descriptor. */
#define FD_UNTRIED (-EBADF)
#define FD_ABSENT (-ENOENT)
#define FD_PASSING (-EMFILE) /* it is there, but none can be kept */

struct group_files {
	const struct group *group; /* one of ours; else the path counts */
	const struct hierarchy *hierarchy;
	struct group_files_budget *budget;
	int root_fd;
	bool is_v2, is_gone;
	bool is_unlimited; /* has never had a limit to its CPU time, as far as we saw */
	uint64_t id;
	unsigned int readings;
	int fds[FIELD_COUNT]; /* at the first field of the file */
	char path[];
};

/* The text of the file that was read last. */
struct text {
	size_t field; /* its first; FIELD_COUNT: none yet */
	ssize_t length; /* or -Exxx */
	char text[TEXT_SIZE];
};

void group_files_budget_init(struct group_files_budget *b, unsigned int others)
{
	struct rlimit limit;

	*b = (struct group_files_budget){};
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	if (limit.rlim_cur < limit.rlim_max && limit.rlim_cur < GROUP_FILES_MAX + others) {
		struct rlimit raised = { MIN(limit.rlim_max, (rlim_t)GROUP_FILES_MAX + others),
					 limit.rlim_max };

		if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
			limit = raised;
	}
	if (limit.rlim_cur > others)
		b->max = (unsigned int)MIN(limit.rlim_cur - others, (rlim_t)GROUP_FILES_MAX);
}

struct metric_set group_files_metrics(bool is_v2, bool has_tasks)
{
	struct metric_set metrics = {};

	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const struct group_field *f = &group_fields[i];

		if (!has_tasks || !(f->is_fallback || (f->is_v1_own && !is_v2)))
			metric_set_add(&metrics, f->metric);
	}
	return metrics;
}

struct metric_set group_files_seldom(void)
{
	struct metric_set metrics = {};

	for (size_t i = 0; i < FIELD_COUNT; i++) {
		if (group_fields[i].is_seldom)
			metric_set_add(&metrics, group_fields[i].metric);
	}
	return metrics;
}

/* NULL: none. */
static const char *file_of(const struct group_files *g, size_t field)
{
	return g->is_v2 ? group_fields[field].v2_file : group_fields[field].v1_file;
}

/* The first field of the file of @field. */
static size_t first_of_file(const struct group_files *g, size_t field)
{
	while (field > 0 &&
	       (g->is_v2 || group_fields[field].controller == group_fields[field - 1].controller) &&
	       file_of(g, field - 1) && strcmp(file_of(g, field), file_of(g, field - 1)) == 0)
		field--;
	return field;
}

/* Where the file is: below the directory *@ret_fd. */
static int find_file(const struct group_files *g, enum controller c, const char *file, int *ret_fd,
		     char path[PATH_SIZE])
{
	const char *mount, *below;
	int length;

	if (g->group) {
		*ret_fd = group_fd(g->group, c);
		length = snprintf(path, PATH_SIZE, "%s", file);
		return *ret_fd < 0 ? -ENOENT : length >= PATH_SIZE ? -ENAMETOOLONG : 0;
	}
	if (!hierarchy_find_place(g->hierarchy, c, g->path, &mount, &below))
		return -ENOENT;
	*ret_fd = g->root_fd;
	length = snprintf(path, PATH_SIZE, ".%s%s/%s", mount, below, file);
	return length >= PATH_SIZE ? -ENAMETOOLONG : 0;
}

static int open_file(const struct group_files *g, size_t field)
{
	char path[PATH_SIZE];
	int dir_fd, fd;
	int r = find_file(g, group_fields[field].controller, file_of(g, field), &dir_fd, path);

	if (r < 0)
		return r;
	fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* Of the directory in the hierarchy of that controller; takes no descriptor. */
static int stat_dir(const struct group_files *g, enum controller c, struct stat *ret)
{
	char path[PATH_SIZE];
	int dir_fd, r = find_file(g, c, ".", &dir_fd, path);

	if (r < 0)
		return r;
	return fstatat(dir_fd, path, ret, 0) < 0 ? -errno : 0;
}

/* -ENODEV: the group is gone; others: unknown. */
static int check_group(const struct group_files *g)
{
	struct stat st;
	int r;

	if (g->group)
		return 0;
	r = stat_dir(g, g->hierarchy->key, &st);
	if (r == -ENOENT || r == -ENOTDIR || (r == 0 && g->id && st.st_ino != g->id))
		return -ENODEV;
	return r;
}

static struct group_files *group_files_new(const char *path, struct group_files_budget *budget)
{
	struct group_files *g = calloc(1, sizeof(*g) + strlen(path) + 1);

	if (!g)
		return NULL;
	memcpy(g->path, path, strlen(path) + 1);
	g->budget = budget;
	g->root_fd = -EBADF;
	for (size_t i = 0; i < FIELD_COUNT; i++)
		g->fds[i] = FD_UNTRIED;
	return g;
}

int group_files_open(int root_fd, const struct hierarchy *h, const char *path, uint64_t id,
		     struct group_files_budget *budget, struct group_files **ret)
{
	_cleanup_(group_files_closep) struct group_files *g = group_files_new(path, budget);
	struct stat st = {};
	int r;

	if (!g)
		return -ENOMEM;
	g->root_fd = root_fd;
	g->hierarchy = h;
	g->is_v2 = h->is_v2;
	g->id = id;
	r = check_group(g);
	if (r == 0 && !id)
		r = stat_dir(g, h->key, &st);
	if (r < 0)
		return r;
	g->id = id ? id : st.st_ino;
	*ret = TAKE_PTR(g);
	return 0;
}

int group_files_open_group(const struct group *group, struct group_files_budget *budget,
			   struct group_files **ret)
{
	struct group_files *g = group_files_new("", budget);

	if (!g)
		return -ENOMEM;
	g->group = group;
	g->is_v2 = group_is_v2(group);
	*ret = g;
	return 0;
}

static void close_file(struct group_files *g, size_t field, int why)
{
	if (g->fds[field] >= 0) {
		close(g->fds[field]);
		assert(g->budget->used > 0);
		g->budget->used--;
	}
	g->fds[field] = why;
}

struct group_files *group_files_close(struct group_files *g)
{
	if (!g)
		return NULL;
	for (size_t i = 0; i < FIELD_COUNT; i++)
		close_file(g, i, FD_UNTRIED);
	free(g);
	return NULL;
}

void group_files_closep(struct group_files **g)
{
	group_files_close(*g);
}

/* Controllers come late (they are handed down after a group is made), so absent files may still
 * come. */
static bool is_search_due(const struct group_files *g)
{
	return (g->readings & (g->readings - 1)) == 0 || g->readings % SEARCH_PERIOD == 0;
}

static ssize_t read_at_start(int fd, char text[TEXT_SIZE])
{
	ssize_t n = pread(fd, text, TEXT_SIZE - 1, 0);

	if (n < 0)
		return -errno;
	if (n == TEXT_SIZE - 1) { /* the rest is not there, and perhaps half of the last number */
		while (n > 0 && text[n - 1] != '\n')
			n--;
	}
	text[n] = '\0';
	return n;
}

static ssize_t open_and_read(struct group_files *g, size_t field, bool is_kept,
			     char text[TEXT_SIZE])
{
	bool was_there = g->fds[field] == FD_PASSING;
	int fd = open_file(g, field);
	ssize_t n;

	if (fd == -EMFILE || fd == -ENFILE)
		g->budget->refused++;
	if (fd < 0) {
		g->fds[field] = fd == -EMFILE || fd == -ENFILE ? FD_PASSING : FD_ABSENT;
		return fd;
	}
	n = read_at_start(fd, text);
	if (n >= 0 && !is_kept) {
		close(fd);
		return n;
	}
	if (n >= 0 && g->budget->used < g->budget->max) {
		g->budget->used++;
		g->fds[field] = fd;
		return n;
	}
	close(fd);
	g->budget->reopened += was_there;
	g->fds[field] = n < 0 ? FD_ABSENT : FD_PASSING;
	return n;
}

/* *@has_opened: some file was opened by its path, which need not lead to the same group any more.
 */
static ssize_t read_file(struct group_files *g, size_t field, bool is_kept, char text[TEXT_SIZE],
			 bool *has_opened)
{
	ssize_t n;

	if (g->fds[field] == FD_ABSENT && !is_search_due(g))
		return -ENOENT;
	if (g->fds[field] < 0) {
		*has_opened = true;
		return open_and_read(g, field, is_kept, text);
	}
	n = read_at_start(g->fds[field], text);
	if (n < 0) /* ENODEV: the group is gone, or only its controller */
		close_file(g, field, FD_ABSENT);
	return n;
}

/* No kernel writes numbers above 64 bits. */
static int parse_field(const struct group_files *g, const struct group_field *f, struct text *t,
		       uint64_t *ret)
{
	const char *key = g->is_v2 ? f->v2_key : f->v1_key;
	unsigned int scale = g->is_v2 ? f->v2_scale : f->v1_scale;
	uint64_t number;
	int r;

	if (g->is_v2 && f->v2_label) {
		r = parse_labelled_u64(t->text, key, f->v2_label, &number);
	} else if (key) {
		r = parse_keyed_u64(t->text, key, '\0', &number);
	} else {
		if (t->length >= NUMBER_SIZE)
			return -EFBIG;
		t->text[strcspn(t->text, "\n")] = '\0';
		r = parse_u64(t->text, &number);
	}
	if (r < 0)
		return r;
	return __builtin_mul_overflow(number, scale, ret) ? -ERANGE : 0;
}

/* A group without a limit is not throttled, and most never have one: so it is checked ever more
 * rarely, and at each reading in other groups. */
static bool rests(const struct group_files *g, const struct group_field *f)
{
	return f->metric == METRIC_CPU_THROTTLED && g->is_unlimited &&
	       g->readings >= LIMIT_PERIOD && (g->readings + g->id) % LIMIT_PERIOD != 0;
}

static void read_field(struct group_files *g, size_t i, struct text *t, bool *has_opened,
		       struct value *ret)
{
	const struct group_field *f = &group_fields[i];
	uint64_t number, periods;
	struct stat st;
	size_t first;

	if (!file_of(g, i) || rests(g, f))
		return;
	first = first_of_file(g, i);
	if (t->field != first) {
		t->field = first;
		t->length = read_file(g, first, !f->is_seldom, t->text, has_opened);
	}
	if (t->length < 0 || parse_field(g, f, t, &number) < 0 || number > VALUE_MAX)
		return;
	if (f->metric == METRIC_CPU_THROTTLED) /* periods pass only while there is a limit */
		g->is_unlimited = parse_keyed_u64(t->text, "nr_periods", '\0', &periods) == 0 &&
				  periods == 0;
	/* with groups below it, the group's own number is not all */
	if (f->is_v1_own && !g->is_v2 && (stat_dir(g, f->controller, &st) < 0 || st.st_nlink > 2))
		return;
	*ret = (struct value){ number, true };
}

int group_files_read(struct group_files *g, const struct metric_set *wanted,
		     struct value values[METRIC_JOB_COUNT])
{
	struct value found[FIELD_COUNT] = {};
	struct text text = { .field = FIELD_COUNT };
	bool has_opened = false, has_any = false;
	int r = 0;

	if (g->is_gone)
		return -ENODEV;
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		if (!wanted || metric_set_has(wanted, group_fields[i].metric))
			read_field(g, i, &text, &has_opened, &found[i]);
		has_any = has_any || found[i].is_known;
	}
	g->readings++;
	if (has_opened || !has_any)
		r = check_group(g);
	if (r == -ENODEV) {
		for (size_t i = 0; i < FIELD_COUNT; i++)
			close_file(g, i, FD_ABSENT);
		g->is_gone = true;
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		if (found[i].is_known)
			values[group_fields[i].metric] = found[i];
	}
	return 0;
}
