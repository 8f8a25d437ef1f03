/* SPDX-License-Identifier: MIT */
#include "cgroup/group_files.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "test.h"
#include "tree.h"

#define ALL NULL

static struct metric_set only(enum metric_id id)
{
	struct metric_set set = {};

	metric_set_add(&set, id);
	return set;
}

static char cg[] = "/cg", memory[] = "/cg/memory", cpu[] = "/cg/cpu", top[] = "/",
	    inner[] = "/inner";
static char own[] = "/";

static const struct hierarchy v2 = { .is_v2 = true, .v2_mount = cg, .v2_own = own, .v2_root = top };
static const struct hierarchy v1 = {
	.key = CONTROLLER_MEMORY,
	.mount = { [CONTROLLER_MEMORY] = memory, [CONTROLLER_CPU] = cpu, [CONTROLLER_CPUACCT] = cpu },
	.root = { [CONTROLLER_MEMORY] = top, [CONTROLLER_CPU] = top, [CONTROLLER_CPUACCT] = top },
};

struct group {
	int fd;
	struct group_files *files;
	struct group_files_budget budget;
	struct value values[METRIC_JOB_COUNT];
};

static struct group empty_group(const char *name)
{
	return (struct group){ .fd = tree_open(name), .budget.max = 100 };
}

static void group_clear(struct group *g)
{
	group_files_close(g->files);
	close(g->fd);
}

static void open_group(struct group *g, const struct hierarchy *h, const char *path)
{
	ASSERT_OK(group_files_open(g->fd, h, path, 0, &g->budget, &g->files));
}

static void read_all(struct group *g)
{
	ASSERT_OK(group_files_read(g->files, ALL, g->values));
}

static void read_group(struct group *g, const struct hierarchy *h, const char *path)
{
	open_group(g, h, path);
	read_all(g);
}

static struct group v2_group(const char *name)
{
	struct group g = empty_group(name);
	int fd = g.fd;

	tree_write(fd, "cg/job/memory.current", "17825792\n");
	tree_write(fd, "cg/job/memory.peak", "19922944\n");
	tree_write(fd, "cg/job/memory.events", "low 0\noom 2\noom_kill 1\noom_group_kill 0\n");
	tree_write(fd, "cg/job/memory.stat", "anon 4096\npgfault 1009\npgmajfault 13\n");
	tree_write(fd, "cg/job/cpu.stat",
		   "usage_usec 5000\nuser_usec 3001\nsystem_usec 1999\nthrottled_usec 311\n");
	return g;
}

TEST(numbers_of_v2_are_in_the_units_of_their_metrics)
{
	_cleanup_(group_clear) struct group g = v2_group("v2");

	read_group(&g, &v2, "/job");
	ASSERT_EQ(g.values[METRIC_MEMORY_USAGE].number, 17825792);
	ASSERT_EQ(g.values[METRIC_MEMORY_PEAK].number, 19922944);
	ASSERT_EQ(g.values[METRIC_MEMORY_OOM_KILLS].number, 1);
	ASSERT_EQ(g.values[METRIC_MEMORY_MAJOR_FAULTS].number, 13);
	ASSERT_EQ(g.values[METRIC_CPU_THROTTLED].number, 311000);
	ASSERT_EQ(g.values[METRIC_CPU_USER].number, 3001000);
	ASSERT_EQ(g.values[METRIC_CPU_SYSTEM].number, 1999000);
	ASSERT_EQ(g.budget.used, 5); /* one descriptor a file, not a number */
}

TEST(what_memory_is_used_for_is_read_and_not_kept_open)
{
	_cleanup_(group_clear) struct group g = v2_group("parts");
	struct metric_set seldom = group_files_seldom(),
			  often = metric_set_minus(group_files_metrics(true, true), seldom);

	tree_write(g.fd, "cg/job/memory.stat",
		   "anon 4096\nfile 12288\nkernel 7\nshmem 8192\npgmajfault 3\n");
	tree_write(g.fd, "cg/job/memory.events",
		   "low 0\nhigh 5\nmax 11\noom 2\noom_kill 1\noom_group_kill 0\n");
	open_group(&g, &v2, "/job");
	ASSERT_OK(group_files_read(g.files, &seldom, g.values));
	ASSERT_EQ(g.budget.used, 0);
	ASSERT_EQ(g.values[METRIC_MEMORY_ANON_PEAK].number, 4096);
	ASSERT_EQ(g.values[METRIC_MEMORY_FILE_PEAK].number, 12288);
	ASSERT_EQ(g.values[METRIC_MEMORY_SHMEM_PEAK].number, 8192);
	ASSERT_EQ(g.values[METRIC_MEMORY_KERNEL_PEAK].number, 7);
	tree_write(g.fd, "cg/job/memory.stat", "anon 8192\n");
	ASSERT_OK(group_files_read(g.files, &seldom, g.values));
	ASSERT_EQ(g.values[METRIC_MEMORY_ANON_PEAK].number, 8192);
	ASSERT_OK(group_files_read(g.files, &often, g.values));
	ASSERT_EQ(g.values[METRIC_MEMORY_LIMIT_HITS].number, 11);
	ASSERT_EQ(g.values[METRIC_MEMORY_HIGH_HITS].number, 5);
	ASSERT_EQ(g.values[METRIC_MEMORY_LIMIT_FAILURES].number, 2);
	ASSERT_EQ(g.values[METRIC_MEMORY_OOM_KILLS].number, 1);
}

TEST(pressure_is_there_where_the_kernel_tells_it)
{
	_cleanup_(group_clear) struct group g = v2_group("pressure");

	tree_write(g.fd, "cg/job/cpu.pressure",
		   "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\n");
	tree_write(g.fd, "cg/job/memory.pressure",
		   "some avg10=2.00 avg60=0.00 avg300=0.00 total=17\n"
		   "full avg10=1.00 avg60=0.00 avg300=0.00 total=13\n");
	tree_write(g.fd, "cg/job/io.pressure", "some avg10=2.00 total=x\nfull avg10=1.00\n");
	read_group(&g, &v2, "/job");
	ASSERT_EQ(g.values[METRIC_PRESSURE_CPU_WAITING].number, 11000);
	ASSERT(!g.values[METRIC_PRESSURE_CPU_STALLED].is_known); /* before Linux 5.13 */
	ASSERT_EQ(g.values[METRIC_PRESSURE_MEMORY_WAITING].number, 17000);
	ASSERT_EQ(g.values[METRIC_PRESSURE_MEMORY_STALLED].number, 13000);
	ASSERT(!g.values[METRIC_PRESSURE_IO_WAITING].is_known &&
	       !g.values[METRIC_PRESSURE_IO_STALLED].is_known);
}

static void write_v1(int fd, const char *dir)
{
	char path[128];

	snprintf(path, sizeof(path), "cg/memory%s/memory.usage_in_bytes", dir);
	tree_write(fd, path, "1048576\n");
	snprintf(path, sizeof(path), "cg/memory%s/memory.oom_control", dir);
	tree_write(fd, path, "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
	snprintf(path, sizeof(path), "cg/cpu%s/cpuacct.usage_user", dir);
	tree_write(fd, path, "123456789\n");
	snprintf(path, sizeof(path), "cg/cpu%s/cpu.stat", dir);
	tree_write(fd, path, "nr_periods 0\nnr_throttled 0\nthrottled_time 17\n");
}

TEST(numbers_of_v1_come_from_the_same_path_in_each_hierarchy)
{
	_cleanup_(group_clear) struct group g = empty_group("v1");

	write_v1(g.fd, "/job_7");
	read_group(&g, &v1, "/job_7");
	ASSERT_EQ(g.values[METRIC_MEMORY_USAGE].number, 1048576);
	ASSERT_EQ(g.values[METRIC_CPU_USER].number, 123456789);
	ASSERT_EQ(g.values[METRIC_CPU_THROTTLED].number, 17);
	ASSERT(!g.values[METRIC_CPU_SYSTEM].is_known); /* there is no such file */
	ASSERT(!g.values[METRIC_MEMORY_PEAK].is_known);
}

static uint64_t throttled(struct group *g)
{
	const struct metric_set wanted = only(METRIC_CPU_THROTTLED);
	struct value values[METRIC_JOB_COUNT] = {};

	(void)group_files_read(g->files, &wanted, values);
	return values[METRIC_CPU_THROTTLED].is_known ? values[METRIC_CPU_THROTTLED].number
						     : UINT64_MAX;
}

TEST(a_group_without_a_limit_is_asked_rarely_whether_it_was_throttled_and_found_when_it_is)
{
	_cleanup_(group_clear) struct group g = empty_group("v1-limit");
	unsigned int asked = 0, waits = 0;

	write_v1(g.fd, "/job_7");
	tree_write(g.fd, "cg/cpu/job_7/cpu.stat",
		   "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
	open_group(&g, &v1, "/job_7");
	for (int i = 0; i < 16; i++)
		ASSERT_EQ(throttled(&g), 0); /* a limit is set early in a life */
	for (int i = 0; i < 160; i++)
		asked += throttled(&g) != UINT64_MAX;
	ASSERT_EQ(asked, 10);
	tree_write(g.fd, "cg/cpu/job_7/cpu.stat",
		   "nr_periods 5\nnr_throttled 2\nthrottled_time 23\n");
	while (throttled(&g) == UINT64_MAX && waits < 16)
		waits++;
	ASSERT(waits < 16);
	for (int i = 0; i < 40; i++)
		ASSERT_EQ(throttled(&g), 23); /* from now on each time */
}

TEST(a_mount_that_shows_a_part_of_the_hierarchy_is_entered_from_there)
{
	_cleanup_(group_clear) struct group g = empty_group("part");
	struct hierarchy h = v2;

	h.v2_root = inner;
	tree_write(g.fd, "cg/job/memory.current", "4096\n");
	read_group(&g, &h, "/inner/job");
	ASSERT_EQ(g.values[METRIC_MEMORY_USAGE].number, 4096);
}

/* There the kernel counts the kills of a group, but not of those below it. */
TEST(oom_kills_of_a_v1_group_with_groups_below_are_absent)
{
	_cleanup_(group_clear) struct group g = empty_group("v1-below");

	write_v1(g.fd, "/job_7");
	read_group(&g, &v1, "/job_7");
	ASSERT_EQ(g.values[METRIC_MEMORY_OOM_KILLS].number, 3);
	write_v1(g.fd, "/job_7/step_0");
	memset(g.values, 0, sizeof(g.values));
	read_all(&g);
	ASSERT(!g.values[METRIC_MEMORY_OOM_KILLS].is_known);
	ASSERT_EQ(g.values[METRIC_MEMORY_USAGE].number, 1048576);
}

TEST(what_nobody_wants_is_not_even_opened)
{
	const struct metric_set usage = only(METRIC_MEMORY_USAGE);
	_cleanup_(group_clear) struct group g = v2_group("wanted");

	open_group(&g, &v2, "/job");
	ASSERT_OK(group_files_read(g.files, &usage, g.values));
	ASSERT_EQ(g.budget.used, 1);
	ASSERT(g.values[METRIC_MEMORY_USAGE].is_known && !g.values[METRIC_MEMORY_PEAK].is_known);
}

static bool is_told(bool is_v2, bool has_tasks, enum metric_id id)
{
	const struct metric_set set = group_files_metrics(is_v2, has_tasks);

	return metric_set_has(&set, id);
}

TEST(what_tasks_tell_as_well_is_not_read)
{
	ASSERT(!is_told(true, true, METRIC_MEMORY_MAJOR_FAULTS));
	ASSERT(is_told(true, false, METRIC_MEMORY_MAJOR_FAULTS));
	ASSERT(is_told(true, true, METRIC_MEMORY_OOM_KILLS));
	ASSERT(!is_told(false, true, METRIC_MEMORY_OOM_KILLS));
}

TEST(each_reading_has_what_the_files_say_then)
{
	_cleanup_(group_clear) struct group g = v2_group("again");

	open_group(&g, &v2, "/job");
	for (unsigned int i = 1; i < 4; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%u\n", i * 4096);
		tree_write(g.fd, "cg/job/memory.current", text);
		read_all(&g);
		ASSERT_EQ(g.values[METRIC_MEMORY_USAGE].number, i * 4096);
	}
}

TEST(beyond_the_budget_files_are_opened_each_time_and_that_is_counted)
{
	_cleanup_(group_clear) struct group g = v2_group("budget");

	g.budget = (struct group_files_budget){ .max = 2 };
	read_group(&g, &v2, "/job");
	ASSERT_EQ(g.budget.used, 2);
	ASSERT_EQ(g.budget.reopened, UINT64_C(0));
	tree_write(g.fd, "cg/job/cpu.stat",
		   "user_usec 4001\nsystem_usec 2999\nthrottled_usec 312\n");
	read_all(&g);
	ASSERT_EQ(g.values[METRIC_CPU_USER].number, 4001000);
	ASSERT_EQ(g.budget.used, 2);
	ASSERT_EQ(g.budget.reopened, UINT64_C(3));
	g.files = group_files_close(g.files);
	ASSERT_EQ(g.budget.used, 0);
}

TEST(files_that_cannot_be_opened_for_want_of_descriptors_are_counted_and_come_back)
{
	const struct metric_set usage = only(METRIC_MEMORY_USAGE);
	_cleanup_(group_clear) struct group g = v2_group("refused");
	struct rlimit limit, none = {};

	open_group(&g, &v2, "/job");
	ASSERT_OK(getrlimit(RLIMIT_NOFILE, &limit));
	none.rlim_max = limit.rlim_max;
	none.rlim_cur = 1 + (rlim_t)g.fd;
	ASSERT_OK(setrlimit(RLIMIT_NOFILE, &none));
	(void)group_files_read(g.files, &usage, g.values);
	ASSERT_OK(setrlimit(RLIMIT_NOFILE, &limit));
	ASSERT_EQ(g.budget.refused, UINT64_C(1));
	ASSERT(!g.values[METRIC_MEMORY_USAGE].is_known);
	ASSERT_OK(group_files_read(g.files, &usage, g.values));
	ASSERT_EQ(g.values[METRIC_MEMORY_USAGE].number, 17825792);
}

TEST(the_budget_leaves_descriptors_to_others)
{
	struct group_files_budget budget;
	struct rlimit limit;

	group_files_budget_init(&budget, 64);
	ASSERT_OK(getrlimit(RLIMIT_NOFILE, &limit));
	ASSERT(budget.max > 0 && budget.max <= GROUP_FILES_MAX);
	ASSERT(budget.max + 64 <= limit.rlim_cur);
	group_files_budget_init(&budget, UINT32_MAX / 2);
	ASSERT_EQ(budget.max, 0);
}

TEST(a_file_that_comes_later_is_found)
{
	_cleanup_(group_clear) struct group g = empty_group("later");

	tree_write(g.fd, "cg/job/memory.current", "4096\n");
	open_group(&g, &v2, "/job");
	for (int i = 0; i < 3; i++)
		read_all(&g);
	tree_write(g.fd, "cg/job/memory.peak", "8192\n");
	for (int i = 0; i < 64 && !g.values[METRIC_MEMORY_PEAK].is_known; i++)
		read_all(&g);
	ASSERT_EQ(g.values[METRIC_MEMORY_PEAK].number, 8192);
}

TEST(no_such_group_is_not_a_group_without_files)
{
	_cleanup_(group_clear) struct group g = v2_group("absent");

	ASSERT_ERR(group_files_open(g.fd, &v2, "/other", 0, &g.budget, &g.files), -ENODEV);
	ASSERT_ERR(group_files_open(g.fd, &v2, "/job", 1, &g.budget, &g.files), -ENODEV); /* of
											     another
											     id */
	ASSERT(!g.files);
	tree_write(g.fd, "cg/empty/README", "");
	read_group(&g, &v2, "/empty");
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++)
		ASSERT(!g.values[i].is_known);
}

/* Files of a real group say ENODEV then; here they are not kept, and so the path is asked. */
TEST(another_group_at_the_same_path_is_not_taken_for_ours)
{
	_cleanup_(group_clear) struct group g = v2_group("replaced");

	g.budget = (struct group_files_budget){};
	g.values[METRIC_MEMORY_USAGE] = (struct value){ 42, true };
	open_group(&g, &v2, "/job");
	ASSERT_OK(renameat(g.fd, "cg/job", g.fd, "cg/before"));
	tree_write(g.fd, "cg/job/memory.current", "4096\n");
	ASSERT_ERR(group_files_read(g.files, ALL, g.values), -ENODEV);
	ASSERT_EQ(g.values[METRIC_MEMORY_USAGE].number, 42);
	ASSERT_OK(renameat(g.fd, "cg/job", g.fd, "cg/after"));
	ASSERT_OK(renameat(g.fd, "cg/before", g.fd, "cg/job"));
	ASSERT_ERR(group_files_read(g.files, ALL, g.values), -ENODEV); /* for ever */
}

TEST(rubbish_is_absent)
{
	_cleanup_(group_clear) struct group g = empty_group("rubbish");

	tree_write(g.fd, "cg/job/memory.current", "-1\n");
	tree_write(g.fd, "cg/job/memory.peak", "99999999999999999999\n");
	tree_write(g.fd, "cg/job/memory.events", "oom_kill\noom_kill x\n");
	/* times 1,000 over 63 bits; a number with a tail; the greatest that there is */
	tree_write(g.fd, "cg/job/cpu.stat",
		   "user_usec 9223372036854776\nsystem_usec 5x\nthrottled_usec 9223372036854775\n");
	read_group(&g, &v2, "/job");
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++)
		ASSERT(g.values[i].is_known == (i == METRIC_CPU_THROTTLED));
	ASSERT_EQ(g.values[METRIC_CPU_THROTTLED].number, UINT64_C(9223372036854775000));
}

TEST(a_number_cut_off_by_the_end_of_the_buffer_is_absent)
{
	_cleanup_(group_clear) struct group g = empty_group("long");
	char text[9000];
	size_t at = 8191 - strlen("pgmajfault 12");

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	memcpy(text + at - 1, "\npgmajfault 12345\n", strlen("\npgmajfault 12345\n"));
	memcpy(text, "pgfault 5\n", strlen("pgfault 5\n"));
	tree_write(g.fd, "cg/job/memory.stat", text);
	read_group(&g, &v2, "/job");
	ASSERT(!g.values[METRIC_MEMORY_MAJOR_FAULTS].is_known);
}

TEST(a_path_that_is_too_long_is_refused)
{
	_cleanup_(group_clear) struct group g = v2_group("deep");
	char path[5000];

	memset(path, '/', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	ASSERT_ERR(group_files_open(g.fd, &v2, path, 0, &g.budget, &g.files), -ENAMETOOLONG);
}

TEST(fields_of_one_file_stand_together)
{
	for (size_t i = 0; i + 1 < group_field_count; i++) {
		for (size_t j = i + 2; j < group_field_count; j++) {
			const struct group_field *a = &group_fields[i],
						 *next = &group_fields[i + 1],
						 *b = &group_fields[j];

			ASSERT(strcmp(a->v2_file, b->v2_file) != 0 ||
			       strcmp(a->v2_file, next->v2_file) == 0);
		}
	}
}
