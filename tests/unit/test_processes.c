/* SPDX-License-Identifier: MIT */
#include "tui/processes.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "cgroup/hierarchy.h"
#include "basic/macro.h"
#include "test.h"
#include "tree.h"

#define STAT \
	"(a) b) R 1 7 7 0 -1 4194304 1009 0 0 0 17 23 0 0 20 0 5 0 4711 1000000 331 18446744073709551615\n"

TEST(a_line_of_stat_is_taken_apart_whatever_the_name_holds)
{
	struct process p = {};

	ASSERT_OK(process_parse_stat("42 " STAT, &p));
	ASSERT_EQ(p.pid, 42);
	ASSERT_STREQ(p.name, "a) b");
	ASSERT_EQ(p.state, 'R');
	ASSERT_EQ(p.threads, (uint64_t)5);
	ASSERT_EQ(p.cpu_ns, (uint64_t)40); /* ticks */
	ASSERT_EQ(p.start_ns, (uint64_t)4711);
	ASSERT_EQ(p.resident_bytes, (uint64_t)331); /* pages */
}

TEST(what_is_no_stat_is_refused)
{
	static const char *const rows[] = {
		"",
		"42",
		"42 (a) R",
		"42 (a) R 1 2 3",
		"42 a R 1 7 7 0 -1 4 1 0 0 0 1 2 0 0 20 0 5 0 4 1 3",
		"x (a) R 1 7 7 0 -1 4 1 0 0 0 1 2 0 0 20 0 5 0 4 1 3",
		"99999999999 (a) R 1 7 7 0 -1 4 1 0 0 0 1 2 0 0 20 0 5 0 4 1 3",
		"42 (a) R 1 7 7 0 -1 4 1 0 0 0 1x 2 0 0 20 0 5 0 4 1 3",
		") 42 (a"
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct process p = { .pid = -7 };

		ASSERT_ERR(process_parse_stat(rows[i], &p), -EINVAL);
		ASSERT_EQ(p.pid, -7);
	}
}

static int asked, mute; /* how many answers do not come */

static int locate(void *context, const char *path, struct process_place *ret)
{
	(void)context;
	asked++;
	if (mute-- > 0)
		return -ETIMEDOUT;
	if (strcmp(path, "/jobs/7") != 0)
		return -ENOENT;
	*ret = (struct process_place){ strdup("made"), strdup("7"), strdup(""), strdup("") };
	return 0;
}

TEST(processes_of_jobs_are_found_and_each_group_is_asked_for_once)
{
	static char mount[] = "/cg", top[] = "/";
	const struct hierarchy hierarchy = {
		.is_v2 = true, .v2_mount = mount, .v2_own = top, .v2_root = top
	};
	_cleanup_close_ int root_fd = tree_open("processes");
	const struct processes_options options = { .root_fd = root_fd,
						   .hierarchy = &hierarchy,
						   .locate = locate };
	struct processes_reader *reader;
	struct processes list = {};

	tree_write(root_fd, "proc/42/stat", "42 " STAT);
	tree_write(root_fd, "proc/42/cgroup", "0::/jobs/7\n");
	tree_write(root_fd, "proc/42/io", "rchar: 1009\nwchar: 17\n");
	tree_write(root_fd, "proc/9/stat", "9 " STAT);
	tree_write(root_fd, "proc/9/cgroup", "0::/jobs/7\n");
	tree_write(root_fd, "proc/10/stat", "10 " STAT);
	tree_write(root_fd, "proc/10/cgroup", "0::/user.slice\n");
	tree_write(root_fd, "proc/11/cgroup", "0::/jobs/7\n"); /* it went while we looked */
	tree_write(root_fd, "proc/self/stat", "9 " STAT);
	reader = processes_open(&options);
	for (int i = 0; i < 2; i++) {
		processes_clear(&list);
		ASSERT_OK(processes_read(reader, &list, NULL));
		ASSERT_EQ((uint64_t)list.count, (uint64_t)2);
	}
	ASSERT_EQ(asked, 2);
	ASSERT_EQ(list.items[0].pid, 9);
	ASSERT(!list.items[0].read.is_known); /* it is not ours to see */
	ASSERT_EQ((uint64_t)list.items[1].read.number, (uint64_t)1009);
	ASSERT_EQ((uint64_t)list.items[1].written.number, (uint64_t)17);
	ASSERT_STREQ(list.items[1].place->id, "7");
	ASSERT_EQ(list.items[1].cpu_ns, UINT64_C(400000000));
	ASSERT(processes_find(&list, 42, UINT64_C(47110000000)) == &list.items[1]);
	ASSERT(!processes_find(&list, 42, 7)); /* another that got its number */
	ASSERT(!processes_find(&list, 43, 7));
	processes_clear(&list);
	processes_close(reader);
}

TEST(without_an_answer_whose_they_are_none_are_taken_for_nobodys)
{
	static char mount[] = "/cg", top[] = "/";
	const struct hierarchy hierarchy = {
		.is_v2 = true, .v2_mount = mount, .v2_own = top, .v2_root = top
	};
	_cleanup_close_ int root_fd = tree_open("mute");
	const struct processes_options options = { .root_fd = root_fd,
						   .hierarchy = &hierarchy,
						   .locate = locate };
	struct processes_reader *reader = processes_open(&options);
	struct processes list = {};
	struct error err = {};

	tree_write(root_fd, "proc/42/stat", "42 " STAT);
	tree_write(root_fd, "proc/42/cgroup", "0::/jobs/7\n");
	mute = 1;
	ASSERT_ERR(processes_read(reader, &list, &err), -ETIMEDOUT);
	ASSERT_CONTAINS(err.text, "cannot find the owners of the processes");
	ASSERT(!list.items);
	ASSERT_OK(processes_read(reader, &list, &err)); /* and it is asked again */
	ASSERT_EQ((uint64_t)list.count, (uint64_t)1);
	processes_clear(&list);
	processes_close(reader);
}
