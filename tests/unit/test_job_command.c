/* SPDX-License-Identifier: MIT */
#include "jobs/job_command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "cgroup/hierarchy.h"
#include "basic/macro.h"
#include "test.h"
#include "tree.h"

#define GROUP "sys/fs/cgroup/memory/slurm/uid_1000/job_7"

/* A job of Slurm with its batch step, and the extern step with what slurmstepd keeps there. */
static int make_job(const char *name)
{
	int root = tree_open(name);

	tree_write(root, "proc/self/mountinfo",
		   "31 30 0:27 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n");
	tree_write(root, "proc/self/cgroup", "4:memory:/\n");
	tree_write(root, GROUP "/cgroup.procs", "");
	tree_write(root, GROUP "/step_extern/task_0/cgroup.procs", "11\n");
	tree_write(root, GROUP "/step_batch/cgroup.procs", "13\n");
	tree_write(root, GROUP "/step_batch/task_0/cgroup.procs", "23\n19\n17\n4711\n");
	return root;
}

static void add_process(int root, int pid, const char *name, int start)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		 "%d (%s) S 1 1 1 0 -1 0 0 0 0 0 3 5 0 0 20 0 1 0 %d 4096 7 8 9\n", pid, name,
		 start);
	tree_write(root, path, text);
}

static void find(int root, int code, const char *name)
{
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	struct job_command c = { .pid = 7, .name = "left" };

	ASSERT_OK(hierarchy_read(root, &h, NULL));
	ASSERT_ERR(job_command_find(root, &h, "slurm", "/slurm/uid_1000/job_7", &c), code);
	ASSERT_STREQ(c.name, name);
}

TEST(it_is_the_oldest_process_that_is_not_the_managers)
{
	_cleanup_close_ int root = make_job("oldest");

	find(root, -ENOENT, "left");
	add_process(root, 11, "sleep", 101); /* of slurmstepd's own step */
	add_process(root, 13, "slurmstepd", 103);
	find(root, -ENOENT, "left");
	add_process(root, 17, "slurm_script", 107);
	find(root, 0, "slurm_script"); /* there is nothing else */
	add_process(root, 23, "later", 127);
	find(root, 0, "later");
	add_process(root, 19, "pack (headers) 7", 113);
	find(root, 0, "pack (headers) 7");
}

TEST(the_environment_has_the_jobs_name)
{
	static const char environment[] =
		"A=SLURM_JOB_NAME=no\0XSLURM_JOB_NAME=no\0SLURM_JOB_NAME=train it\0B=";
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	_cleanup_close_ int root = make_job("label");
	struct job_command c = {};
	int fd;

	ASSERT_OK(hierarchy_read(root, &h, NULL));
	add_process(root, 17, "slurm_script", 107);
	ASSERT_OK(job_command_find(root, &h, "slurm", "/slurm/uid_1000/job_7", &c));
	ASSERT_STREQ(c.label, "");
	fd = openat(root, "proc/17/environ", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ASSERT_EQ((long)write(fd, environment, sizeof(environment) - 1),
		  (long)(sizeof(environment) - 1));
	close(fd);
	ASSERT_OK(job_command_find(root, &h, "slurm", "/slurm/uid_1000/job_7", &c));
	ASSERT_STREQ(c.label, "train it");
	ASSERT_OK(job_command_find(root, &h, "pbs", "/slurm/uid_1000/job_7", &c));
	ASSERT_STREQ(c.label, "");
	ASSERT_OK(job_command_find(root, &h, "units", "/slurm/uid_1000/job_7", &c));
	ASSERT_STREQ(c.label, "");
}

TEST(some_managers_jobs_are_named_by_what_they_run)
{
	ASSERT(job_command_names("slurm") && job_command_names("pbs") && job_command_names("run"));
	ASSERT(!job_command_names("units") && !job_command_names(""));
}

TEST(a_process_that_began_later_under_the_same_number_is_another_one)
{
	_cleanup_close_ int root = tree_open("again");
	struct job_command c = { .pid = 17, .start = 107, .name = "sort" };

	ASSERT(!job_command_lives(root, c.pid, c.start, c.name));
	add_process(root, 17, "sort", 107);
	ASSERT(job_command_lives(root, c.pid, c.start, c.name));
	add_process(root, 17, "tar", 107); /* it executed something else */
	ASSERT(!job_command_lives(root, c.pid, c.start, c.name));
	add_process(root, 17, "sort", 109);
	ASSERT(!job_command_lives(root, c.pid, c.start, c.name));
	ASSERT(!job_command_lives(root, 0, 0, NULL));
}

TEST(what_is_no_stat_is_told)
{
	static const char *const texts[] = { "",
					     "7",
					     "7 (a",
					     "7 a) S",
					     "x (a) S 1",
					     "7 (a) S 1 2 3",
					     "0 (a) S 1 1 1 0 -1 0 0 0 0 0 3 5 0 0 20 0 1 0 7 1",
					     "7 (a) S 1 1 1 0 -1 0 0 0 0 0 3 5 0 0 20 0 1 0 x 1",
					     ")7(" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct job_command c = { .pid = 41 };

		ASSERT_ERR(job_command_parse_stat(texts[i], &c), -EINVAL);
		ASSERT_EQ(c.pid, 41);
	}
}
