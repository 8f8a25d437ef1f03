/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node/published.h"
#include "basic/cleanup.h"
#include "test.h"

#define BOOT "b00t"
#define SLOTS 3

static char path[256];

static void begin(void)
{
	snprintf(path, sizeof(path), "%s/published", test_dir());
	unlink(path);
}

static struct published *open_it(const char *boot_id)
{
	struct published *p = NULL;

	ASSERT_EQ(published_open(path, boot_id, SLOTS, &p), 0);
	return p;
}

/* Jobs "0", "1" and so on, which used that many ns more than @ns. */
static struct snapshot *jobs_of(int first, int count, uint64_t ns)
{
	struct snapshot *s = snapshot_new();

	s->jobs = calloc((size_t)count, sizeof(*s->jobs));
	s->job_count = (size_t)count;
	for (int i = 0; i < count; i++) {
		char id[16];

		snprintf(id, sizeof(id), "%d", first + i);
		s->jobs[i].job = job_new("slurm", id);
		s->jobs[i].job->start_boot_ns = 7;
		s->jobs[i].values[METRIC_CPU_USER] = (struct value){ ns + (uint64_t)i, true };
		s->jobs[i].values[METRIC_TASKS_LIVE] = (struct value){ 5, true };
	}
	return s;
}

static void put(struct published *p, int first, int count, uint64_t ns)
{
	struct snapshot *s = jobs_of(first, count, ns);

	published_put(p, s);
	snapshot_unref(s);
}

/* Of job @id that started then; -1: nothing. */
static int64_t shown(struct published *p, const char *id, uint64_t start_boot_ns)
{
	struct value values[METRIC_JOB_COUNT];
	struct job *job = job_new("slurm", id);
	bool is_there;

	job->start_boot_ns = start_boot_ns;
	is_there = published_get(p, job, values);
	job_unref(job);
	ASSERT(!values[METRIC_TASKS_LIVE].is_known); /* a gauge may fall */
	return is_there ? (int64_t)values[METRIC_CPU_USER].number : -1;
}

TEST(what_was_shown_outlives_who_showed_it)
{
	struct published *p;

	begin();
	p = open_it(BOOT);
	ASSERT_EQ(shown(p, "1", 7), -1);
	put(p, 1, 2, 100);
	put(p, 1, 2, 200);
	published_close(p); /* as good as killed: nothing is written at the end */
	p = open_it(BOOT);
	ASSERT_EQ(shown(p, "1", 7), 200);
	ASSERT_EQ(shown(p, "2", 7), 201);
	ASSERT_EQ(shown(p, "2", 8), -1); /* the same id made anew */
	published_close(p);
}

TEST(who_is_shown_no_more_gives_room_to_others)
{
	_cleanup_(published_closep) struct published *p;

	begin();
	p = open_it(BOOT);
	for (int i = 0; i < 10; i++)
		put(p, i, SLOTS, 1000);
	ASSERT_EQ(shown(p, "8", 7), -1);
	ASSERT_EQ(shown(p, "9", 7), 1000);
	put(p, 9, SLOTS + 2, 2000); /* too many: those that have a place keep it */
	ASSERT_EQ(shown(p, "9", 7), 2000);
	ASSERT_EQ(shown(p, "13", 7), -1);
	published_clear(p);
	ASSERT_EQ(shown(p, "9", 7), -1);
}

TEST(a_file_of_another_boot_or_none_is_not_believed)
{
	struct published *p;
	int fd;

	begin();
	p = open_it(BOOT);
	put(p, 1, 1, 100);
	published_close(p);
	p = open_it("another");
	ASSERT_EQ(shown(p, "1", 7), -1);
	published_close(p);
	fd = open(path, O_WRONLY | O_TRUNC);
	ASSERT_EQ(write(fd, "torn", 4), 4);
	close(fd);
	p = open_it(BOOT);
	ASSERT_EQ(shown(p, "1", 7), -1);
	published_close(p);
}

TEST(a_file_that_others_may_read_or_a_link_is_refused)
{
	struct published *p = NULL;
	const char *target = test_path("target");

	begin();
	published_close(open_it(BOOT));
	chmod(path, 0644);
	ASSERT_EQ(published_open(path, BOOT, SLOTS, &p), -EPERM);
	rename(path, target);
	ASSERT_EQ(symlink(target, path), 0);
	ASSERT_EQ(published_open(path, BOOT, SLOTS, &p), -ELOOP);
	unlink(target);
}

TEST(room_is_taken_as_jobs_come_and_for_all_that_there_may_be)
{
	struct published *p = NULL;
	struct stat few, many;

	begin();
	ASSERT_EQ(published_open(path, BOOT, 5003, &p), 0);
	put(p, 0, 10, 100);
	ASSERT_EQ(stat(path, &few), 0);
	put(p, 0, 5003, 100);
	ASSERT_EQ(stat(path, &many), 0);
	ASSERT(few.st_blocks < many.st_blocks / 2);
	published_close(p);
	ASSERT_EQ(published_open(path, BOOT, 5003, &p), 0);
	ASSERT_EQ(shown(p, "5002", 7), 5102);
	ASSERT_EQ(shown(p, "0", 7), 100);
	published_close(p);
}
