/* SPDX-License-Identifier: MIT */
#include "cgroup/managers.h"

#include "basic/cleanup.h"
#include "test.h"
#include "tree.h"

#define SLURM "ProctrackType=proctrack/cgroup"

TEST(a_manager_is_seen_by_its_file_or_its_daemon)
{
	_cleanup_close_ int root = tree_open("node");
	struct managers m;

	tree_write(root, "etc/slurm/slurm.conf", "ProctrackType=proctrack/pgid\n");
	tree_write(root, "proc/4711/comm", "slurmd\n");
	tree_write(root, "proc/9/comm", "kubelet\n");
	tree_write(root, "proc/self/comm", "pbs_mom\n"); /* not a process' directory */
	managers_read(root, &m);
	ASSERT_EQ(m.count, (uint64_t)2);
	ASSERT_STREQ(m.items[0].name, "Slurm");
	ASSERT_STREQ(m.items[0].file, "etc/slurm/slurm.conf");
	ASSERT_STREQ(m.items[0].daemon, "slurmd");
	ASSERT_EQ(m.items[0].daemon_pid, 4711);
	ASSERT_EQ((int)m.items[0].tracking, TRACKING_OFF);
	ASSERT_STREQ(m.items[1].name, "Kubernetes");
	ASSERT(!m.items[1].file);
}

TEST(an_empty_node_has_no_manager)
{
	_cleanup_close_ int root = tree_open("empty");
	struct managers m;

	managers_read(root, &m);
	ASSERT_EQ(m.count, (uint64_t)0);
}

TEST(the_last_line_of_a_setting_counts_and_comments_do_not)
{
	ASSERT_EQ((int)managers_parse_tracking(SLURM "\n", SLURM), TRACKING_ON);
	ASSERT_EQ((int)managers_parse_tracking("  proctracktype=PROCTRACK/cgroup # x\n", SLURM),
		  TRACKING_ON);
	ASSERT_EQ((int)managers_parse_tracking("A=b\nProctrackType=proctrack/linuxproc\n", SLURM),
		  TRACKING_OFF);
	ASSERT_EQ((int)managers_parse_tracking(SLURM "\nProctrackType=proctrack/pgid", SLURM),
		  TRACKING_OFF);
	ASSERT_EQ((int)managers_parse_tracking("#" SLURM "\n", SLURM), TRACKING_UNKNOWN);
	ASSERT_EQ((int)managers_parse_tracking("ProctrackType", SLURM), TRACKING_UNKNOWN);
	ASSERT_EQ((int)managers_parse_tracking("", SLURM), TRACKING_UNKNOWN);
	ASSERT_EQ((int)managers_parse_tracking("ProctrackType=", SLURM), TRACKING_OFF);
}
