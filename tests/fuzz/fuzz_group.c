/* SPDX-License-Identifier: MIT */
/*
 * Any files as those of a group, v1's and v2's: each number is what a simpler reader finds, times
 * its scale, and absent where that finds none.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cgroup/allocation.h"
#include "basic/cleanup.h"
#include "basic/cpulist.h"
#include "basic/error.h"
#include "basic/file.h"
#include "fuzz.h"
#include "cgroup/group.h"
#include "cgroup/group_files.h"
#include "basic/macro.h"
#include "made_root.h"

/* clang-format off */
static const struct source {
	enum metric_id metric;
	const char *v1_file, *v1_key, *v2_file, *v2_key; /* no file: none; no key: one number */
	uint64_t v2_scale;
	const char *v2_label; /* NULL: the number is behind the key */
} sources[] = {
	{ METRIC_MEMORY_USAGE, "memory.usage_in_bytes", NULL, "memory.current", NULL, 1, NULL },
	{ METRIC_MEMORY_PEAK, "memory.max_usage_in_bytes", NULL, "memory.peak", NULL, 1, NULL },
	{ METRIC_MEMORY_OOM_KILLS, "memory.oom_control", "oom_kill", "memory.events", "oom_kill", 1, NULL },
	{ METRIC_MEMORY_MAJOR_FAULTS, "memory.stat", "total_pgmajfault", "memory.stat", "pgmajfault", 1, NULL },
	{ METRIC_CPU_THROTTLED, "cpu.stat", "throttled_time", "cpu.stat", "throttled_usec", 1000, NULL },
	{ METRIC_CPU_USER, "cpuacct.usage_user", NULL, "cpu.stat", "user_usec", 1000, NULL },
	{ METRIC_CPU_SYSTEM, "cpuacct.usage_sys", NULL, "cpu.stat", "system_usec", 1000, NULL },
	{ METRIC_PRESSURE_CPU_WAITING, NULL, NULL, "cpu.pressure", "some", 1000, "total" },
	{ METRIC_PRESSURE_CPU_STALLED, NULL, NULL, "cpu.pressure", "full", 1000, "total" },
	{ METRIC_PRESSURE_IO_WAITING, NULL, NULL, "io.pressure", "some", 1000, "total" },
	{ METRIC_PRESSURE_IO_STALLED, NULL, NULL, "io.pressure", "full", 1000, "total" },
	{ METRIC_PRESSURE_MEMORY_WAITING, NULL, NULL, "memory.pressure", "some", 1000, "total" },
	{ METRIC_PRESSURE_MEMORY_STALLED, NULL, NULL, "memory.pressure", "full", 1000, "total" },
};
/* clang-format on */

static char mount_point[] = "/cg", own[] = "/", own_group[32];

#define FILE_SIZE 8192
#define SMALL_SIZE 64 /* a file of one or two numbers that is larger is none */

/* All of v1 in one mount, or v2. */
static struct hierarchy made_hierarchy(bool is_v2, char *group)
{
	struct hierarchy h = { .is_v2 = is_v2, .key = CONTROLLER_MEMORY };

	for (size_t i = 0; i < CONTROLLER_COUNT && !is_v2; i++) {
		h.mount[i] = mount_point;
		h.own[i] = group;
		h.root[i] = own;
	}
	if (is_v2) {
		h.v2_mount = mount_point;
		h.v2_own = group;
		h.v2_root = own;
	}
	return h;
}

/* The text of a number of at most 19 digits; false: there is none. */
static bool read_number(const char *text, const char *ends, uint64_t *ret)
{
	size_t digits = strspn(text, "0123456789");

	*ret = digits && digits < 20 ? strtoull(text, NULL, 10) : 0;
	return digits && digits < 20 && strchr(ends, text[digits]);
}

/* Of "some avg10=0.00 total=123", behind the key. */
static bool read_label(char *line, const char *label, uint64_t *ret)
{
	size_t length = strlen(label);
	char *word;

	while ((word = strsep(&line, " "))) {
		if (strncmp(word, label, length) == 0 && word[length] == '=')
			return read_number(word + length + 1, "\t", ret);
	}
	return false;
}

static bool find_number(int fd, const char *file, const char *key, const char *label, uint64_t *ret)
{
	_cleanup_free_ char *text = NULL;
	char *rest, *line;
	size_t size;

	if (!file || file_read(fd, file, 1 << 20, &text, &size) < 0)
		return false;
	if (size >= FILE_SIZE - 1) { /* what is behind the last whole line is not read */
		const char *end = memrchr(text, '\n', FILE_SIZE - 1);

		text[end ? end + 1 - text : 0] = '\0';
	}
	if (!key)
		return size < SMALL_SIZE && read_number(text, "\n", ret);
	for (rest = text; (line = strsep(&rest, "\n"));) {
		size_t length = strlen(key);

		if (strncmp(line, key, length) != 0 || !line[length] ||
		    !strchr(label ? " " : " \t", line[length]))
			continue;
		if (label)
			return read_label(line + length + 1, label, ret);
		return read_number(line + length + strspn(line + length, " \t"), " \t", ret);
	}
	return false;
}

static bool has_dirs(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink > 2;
}

/* By the directories of @g, opened each time. */
static void read_all(const struct group *g, struct value values[METRIC_JOB_COUNT])
{
	struct group_files_budget none = {};
	struct group_files *files = NULL;
	struct metric_set all = {};

	for (size_t id = 0; id < METRIC_JOB_COUNT; id++)
		metric_set_add(&all, (enum metric_id)id);
	CHECK(group_files_open_group(g, &none, &files) == 0);
	CHECK(group_files_read(files, &all, values) == 0);
	group_files_close(files);
}

static void check_numbers(const struct group *g)
{
	bool is_v2 = group_is_v2(g);
	int fd = group_fd(g, CONTROLLER_MEMORY);
	struct value values[METRIC_JOB_COUNT] = {};

	read_all(g, values);
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		const struct source *s = &sources[i];
		const struct value *value = &values[s->metric];
		uint64_t scale = is_v2 ? s->v2_scale : 1, number = 0;
		bool is_there = find_number(fd, is_v2 ? s->v2_file : s->v1_file,
					    is_v2 ? s->v2_key : s->v1_key,
					    is_v2 ? s->v2_label : NULL, &number);

		if (is_there && number > VALUE_MAX / scale)
			CHECK(!value->is_known);
		else if (is_there && s->metric == METRIC_MEMORY_OOM_KILLS && !is_v2 && has_dirs(fd))
			CHECK(!value->is_known); /* those of groups below are not in it */
		else if (is_there)
			CHECK(value->is_known && value->number == number * scale);
		else if (value->is_known) /* of 20 digits, or followed by a NUL */
			CHECK(value->number > 0 || scale > 1 || number == 0);
	}
}

/* By its path, kept open or opened each time: the same numbers as by the directories of @g. */
static void check_path(int root_fd, const struct group *g)
{
	struct hierarchy h = made_hierarchy(group_is_v2(g), own);
	struct group_files_budget none = {}, enough = { .max = 100 };
	struct group_files *kept = NULL, *passing = NULL;
	struct value own_values[METRIC_JOB_COUNT] = {};

	read_all(g, own_values);
	CHECK(group_files_open(root_fd, &h, own_group, group_id(g), &enough, &kept) == 0);
	CHECK(group_files_open(root_fd, &h, own_group, 0, &none, &passing) == 0);
	for (int i = 0; i < 2; i++) {
		struct value values[2][METRIC_JOB_COUNT] = {};

		CHECK(group_files_read(kept, NULL, values[0]) == 0);
		CHECK(group_files_read(passing, NULL, values[1]) == 0);
		for (size_t m = 0; m < METRIC_JOB_COUNT; m++) {
			CHECK(values[0][m].is_known == own_values[m].is_known &&
			      values[0][m].number == own_values[m].number);
			CHECK(values[1][m].is_known == own_values[m].is_known &&
			      values[1][m].number == own_values[m].number);
		}
	}
	group_files_close(kept);
	group_files_close(passing);
	CHECK(enough.used == 0 && none.used == 0);
}

/* What a group may use, by its path, is no more than what its files say. */
static void check_allocation(int root_fd, const struct group *g)
{
	struct hierarchy h = made_hierarchy(group_is_v2(g), own);
	struct allocation a = {};
	struct cpulist list;
	uint64_t limit;

	CHECK(allocation_read_group(root_fd, &h, own_group, &a) == 0);
	if (a.cpus) {
		CHECK(cpulist_parse(a.cpus, &list) == 0 && a.cores.is_known);
		CHECK(a.cores.number <= (uint64_t)cpulist_count(&list) * 1000);
	}
	if (find_number(group_fd(g, CONTROLLER_MEMORY),
			group_is_v2(g) ? "memory.max" : "memory.limit_in_bytes", NULL, NULL,
			&limit) &&
	    limit < 1 << 30)
		CHECK(a.memory.is_known && a.memory.number == limit);
	allocation_clear(&a);
}

static void check_processes(const struct group *g)
{
	pid_t pids[16];
	ssize_t count = group_list_processes(g, pids, ARRAY_SIZE(pids));

	CHECK(count >= 0);
	for (ssize_t i = 0; i < count && i < (ssize_t)ARRAY_SIZE(pids); i++)
		CHECK(pids[i] > 0);
}

/* "QUOTA PERIOD", and all else is none; in thousandths of a core. */
static uint64_t read_quota(int fd, uint64_t most)
{
	_cleanup_free_ char *text = NULL;
	uint64_t number, period;
	size_t size;

	if (file_read(fd, "cpu.max", 1 << 20, &text, &size) < 0 || size >= SMALL_SIZE ||
	    !strchr(text, ' ') || !read_number(text, " ", &number) ||
	    !read_number(strchr(text, ' ') + 1, "\n", &period) || !period ||
	    number > UINT64_MAX / 1000)
		return UINT64_MAX;
	return MIN(number * 1000 / period, most);
}

static void check_limits(int root_fd, const struct group *g)
{
	struct hierarchy h = made_hierarchy(group_is_v2(g), own_group);
	struct reading reading = {};
	_cleanup_free_ char *cpus = NULL;
	uint64_t limit, cores;
	struct cpulist list;

	CHECK(allocation_read(root_fd, &h, &reading, &cpus) == 0);
	CHECK(cpulist_parse(cpus, &list) == 0);
	cores = (uint64_t)cpulist_count(&list) * 1000;
	CHECK(reading.values[METRIC_CPU_ALLOCATED].number <= cores);
	limit = group_is_v2(g) ? read_quota(group_fd(g, CONTROLLER_CPU), cores) : UINT64_MAX;
	if (limit != UINT64_MAX)
		CHECK(reading.values[METRIC_CPU_ALLOCATED].number == limit);
	if (find_number(group_fd(g, CONTROLLER_MEMORY),
			group_is_v2(g) ? "memory.max" : "memory.limit_in_bytes", NULL, NULL,
			&limit) &&
	    limit < 1 << 30)
		CHECK(reading.values[METRIC_MEMORY_LIMIT].number == limit);
	reading_clear(&reading);
}

/* The same files stand in the group and in the caller's, above it. */
static void check_group(bool is_v2, const uint8_t *data, size_t size)
{
	struct hierarchy h = made_hierarchy(is_v2, own);
	int root_fd = made_root_fd();
	struct group *g = NULL;
	struct error err = {};
	_cleanup_close_ int fd = -EBADF;

	CHECK(mkdirat(root_fd, "cg", 0700) == 0);
	fd = openat(root_fd, "cg", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	made_root_fill(fd, data, size);
	if (group_make(root_fd, &h, "made", &g, &err) == 0) {
		CHECK(group_is_v2(g) == is_v2 && group_id(g) != 0);
		snprintf(own_group, sizeof(own_group), "/made-%u", group_number(g));
		made_root_fill(group_fd(g, CONTROLLER_MEMORY), data, size);
		check_numbers(g);
		check_processes(g);
		check_limits(root_fd, g);
		check_path(root_fd, g);
		check_allocation(root_fd, g);
	}
	made_root_clear();
	group_remove(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_group(false, data, size);
	check_group(true, data, size);
	return 0;
}
