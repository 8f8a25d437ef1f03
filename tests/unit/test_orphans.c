/* SPDX-License-Identifier: MIT */
#include "agent/orphans.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "test.h"
#include "tree.h"

/* A number that no process has: that of one that was reaped. */
static pid_t ended(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(0);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	return pid;
}

static int open_root(const char *name)
{
	int fd = tree_open(name);

	tree_write(fd, "proc/self/cgroup", "0::/\n");
	tree_write(fd, "proc/self/mountinfo",
		   "30 23 0:26 / /cg rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
	tree_write(fd, "cg/slurm/job_7/cgroup.procs", "");
	return fd;
}

static void make(int root_fd, const char *format, pid_t pid)
{
	char path[256];

	snprintf(path, sizeof(path), format, pid);
	ASSERT_OK(mkdirat(root_fd, path, 0755));
}

static bool exists(int root_fd, const char *format, pid_t pid)
{
	char path[256];

	snprintf(path, sizeof(path), format, pid);
	return faccessat(root_fd, path, F_OK, 0) == 0;
}

TEST(a_name_tells_whose_run_it_was)
{
	ASSERT_EQ(orphans_client_of("jobmeter-run-17"), 17);
	ASSERT_EQ(orphans_client_of("jobmeter-run-17-self"), 17);
	ASSERT_EQ(orphans_client_of("jobmeter-run-0"), 0);
	ASSERT_EQ(orphans_client_of("jobmeter-run-"), 0);
	ASSERT_EQ(orphans_client_of("jobmeter-run--1"), 0);
	ASSERT_EQ(orphans_client_of("jobmeter-run-17x"), 0);
	ASSERT_EQ(orphans_client_of("jobmeter-run-17-self-self"), 0);
	ASSERT_EQ(orphans_client_of("jobmeter-run-4294967296"), 0);
	ASSERT_EQ(orphans_client_of("jobmeter-run-99999999999999999999"), 0);
	ASSERT_EQ(orphans_client_of("jobmeter-selftest-17"), 0);
	ASSERT_EQ(orphans_client_of(""), 0);
}

TEST(runs_that_have_ended_go_and_nothing_else)
{
	_cleanup_close_ int fd = open_root("orphans-ended");
	pid_t pid = ended();
	_cleanup_(orphans_clear) struct orphans o = {};

	make(fd, "cg/slurm/job_7/jobmeter-run-%d", pid);
	make(fd, "cg/slurm/job_7/jobmeter-run-%d-self", pid);
	make(fd, "cg/slurm/job_7/jobmeter-run-%d/jobmeter-run-1", pid); /* a live one in it */
	make(fd, "cg/slurm/job_7/jobmeter-other-%d", pid);
	make(fd, "cg/jobmeter-run-%d", getpid());
	ASSERT_OK(orphans_find(fd, &o));
	ASSERT_EQ(o.count, 4U);
	ASSERT(orphans_sweep(&o));
	ASSERT_EQ(o.count, 3U);
	ASSERT(!exists(fd, "cg/slurm/job_7/jobmeter-run-%d-self", pid));
	ASSERT(exists(fd, "cg/slurm/job_7/jobmeter-run-%d/jobmeter-run-1", pid));
	ASSERT(exists(fd, "cg/slurm/job_7/jobmeter-other-%d", pid));
	ASSERT(exists(fd, "cg/jobmeter-run-%d", getpid()));
}

TEST(a_run_whose_client_lives_goes_once_that_says_so)
{
	_cleanup_close_ int fd = open_root("orphans-released");
	_cleanup_(orphans_clear) struct orphans o = {};

	make(fd, "cg/jobmeter-run-%d", getpid());
	ASSERT_OK(orphans_find(fd, &o));
	ASSERT(!orphans_release(&o, ended()));
	ASSERT(orphans_sweep(&o));
	ASSERT(exists(fd, "cg/jobmeter-run-%d", getpid()));
	ASSERT(orphans_release(&o, getpid()));
	ASSERT(!orphans_sweep(&o));
	ASSERT(!exists(fd, "cg/jobmeter-run-%d", getpid()));
}

/* What is deeper goes first; what went by itself is no longer looked for. */
TEST(a_run_in_a_run_goes_with_it)
{
	_cleanup_close_ int fd = open_root("orphans-nested");
	pid_t outer = ended(), inner = ended();
	_cleanup_(orphans_clear) struct orphans o = {};
	char path[256];

	make(fd, "cg/jobmeter-run-%d", outer);
	snprintf(path, sizeof(path), "cg/jobmeter-run-%d/jobmeter-run-%d", outer, inner);
	ASSERT_OK(mkdirat(fd, path, 0755));
	make(fd, "cg/slurm/jobmeter-run-%d-self", outer);
	ASSERT_OK(orphans_find(fd, &o));
	ASSERT_EQ(o.count, 3U);
	snprintf(path, sizeof(path), "cg/slurm/jobmeter-run-%d-self", outer);
	ASSERT_OK(unlinkat(fd, path, AT_REMOVEDIR));
	ASSERT(!orphans_sweep(&o));
	ASSERT(!exists(fd, "cg/jobmeter-run-%d", outer));
}

TEST(without_cgroups_there_are_none)
{
	_cleanup_close_ int fd = tree_open("orphans-none");
	_cleanup_(orphans_clear) struct orphans o = {};

	ASSERT(orphans_find(fd, &o) < 0);
	ASSERT(!orphans_sweep(&o));
}
