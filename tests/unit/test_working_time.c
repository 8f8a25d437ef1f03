/* SPDX-License-Identifier: MIT */

#include "analysis/core_time.h"
#include "analysis/working_time.h"
#include "basic/cleanup.h"
#include "model/record.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)

static void block(struct record *r, enum cause cause, uint64_t seconds)
{
	reading_set(&r->reading, cause_metric(cause), seconds * SECOND);
}

/* 60 s on a CPU, 20 s waiting for one, 20 s blocked in sync: 100 s. */
static struct record *made(void)
{
	struct record *r = record_new();

	r->time.elapsed_ns = 100 * SECOND;
	reading_set(&r->reading, METRIC_CPU_USER, 50 * SECOND);
	reading_set(&r->reading, METRIC_CPU_SYSTEM, 10 * SECOND);
	reading_set(&r->reading, METRIC_CPU_RUN_QUEUE, 20 * SECOND);
	for (size_t c = 0; c < CAUSE_COUNT; c++)
		block(r, (enum cause)c, 0);
	block(r, CAUSE_SYNC, 20);
	return r;
}

static struct mount_row *row_of(struct record *r, const char *mount)
{
	struct mount_row *row = reading_get_mount(&r->reading, row_kind_of(mount), mount, NULL);

	ASSERT(row != NULL);
	r->reading.has_mounts = row->has_seconds = true;
	return row;
}

static double sum_of(const struct working_time *t)
{
	double sum = t->computing;

	for (size_t c = 0; c < LOST_COUNT; c++)
		sum += t->parts[c];
	return sum;
}

static struct amount share_of(const struct record *r, enum cause cause, struct amount inside)
{
	struct working_time t = working_time_of(r);

	return working_time_share(&t, cause, inside);
}

TEST(sleep_and_children_are_no_work)
{
	_cleanup_(record_freep) struct record *r = made();
	struct working_time t;

	block(r, CAUSE_SLEEP, 500);
	block(r, CAUSE_CHILDREN, 500);
	t = working_time_of(r);
	ASSERT(t.is_known && test_is_near(t.seconds, 100) && test_is_near(sum_of(&t), 100));
}

TEST(without_times_inside_calls_the_parts_are_what_threads_were_blocked)
{
	_cleanup_(record_freep) struct record *r = made();
	struct working_time t = working_time_of(r);

	ASSERT(!t.knows_calls); /* nobody looked at files */
	ASSERT(test_is_near(t.computing, 60) && test_is_near(t.parts[CAUSE_SYNC], 20));
	row_of(r, "/scratch")->has_seconds = false;
	t = working_time_of(r);
	ASSERT(!t.knows_calls && test_is_near(t.computing, 60));
}

/* Of 44 s inside fsync 20 were blocked; of the 80 s that were not blocked three quarters were on a
 * CPU: so are 18 of the 24. */
TEST(time_on_a_cpu_inside_of_calls_is_theirs_and_waiting_for_one_stays_whole)
{
	_cleanup_(record_freep) struct record *r = made();
	struct working_time t;

	row_of(r, "/scratch")->ops[OP_FSYNC].ns = 44 * SECOND;
	t = working_time_of(r);
	ASSERT(t.knows_calls && test_is_near(t.parts[CAUSE_SYNC], 38));
	ASSERT(test_is_near(t.computing, 42) && test_is_near(t.parts[LOST_RUN_QUEUE], 20));
	ASSERT(test_is_near(sum_of(&t), 100));
}

TEST(a_mount_has_its_part_of_what_the_job_has)
{
	_cleanup_(record_freep) struct record *r = made();
	struct amount one, all;

	row_of(r, "/scratch")->ops[OP_READ].ns = 30 * SECOND;
	row_of(r, "/home")->ops[OP_READ].ns = 10 * SECOND;
	one = share_of(r, CAUSE_FILE_READ, amount_of(10));
	all = share_of(r, CAUSE_FILE_READ, amount_of(40));
	ASSERT(test_is_near(all.number, 0.3)); /* three quarters of 40 s, of 100 s */
	ASSERT(test_is_near(one.number, all.number / 4));
	ASSERT(!share_of(r, CAUSE_FILE_READ, (struct amount){}).is_known);
	all = share_of(r, CAUSE_FILE_WRITE, amount_of(0));
	ASSERT(all.is_known && all.number == 0);
}

TEST(waiting_at_a_pipe_or_a_terminal_is_no_read_of_files)
{
	_cleanup_(record_freep) struct record *r = made();
	struct working_time t;

	row_of(r, "(pipe)")->ops[OP_READ].ns = 30 * SECOND;
	row_of(r, "/dev")->ops[OP_READ].ns = 30 * SECOND;
	t = working_time_of(r);
	ASSERT(t.knows_calls && test_is_near(t.parts[CAUSE_FILE_READ], 0) &&
	       test_is_near(t.computing, 60));
}

/* What waits inside of a call for what is no loss is no CPU time. */
TEST(calls_get_no_more_than_all_cpu_time)
{
	_cleanup_(record_freep) struct record *r = made();
	struct working_time t;

	row_of(r, "/scratch")->ops[OP_READ].ns = 300 * SECOND;
	row_of(r, "/scratch")->ops[OP_WRITE].ns = 100 * SECOND;
	t = working_time_of(r);
	ASSERT(test_is_near(t.parts[CAUSE_FILE_READ], 45) &&
	       test_is_near(t.parts[CAUSE_FILE_WRITE], 15));
	ASSERT(test_is_near(t.computing, 0) && test_is_near(sum_of(&t), 100));
}

TEST(without_all_causes_nothing_is_known)
{
	_cleanup_(record_freep) struct record *r = made();

	r->reading.values[METRIC_BLOCKED_LOCK].is_known = false;
	ASSERT(!working_time_of(r).is_known);
	ASSERT(!share_of(r, CAUSE_SYNC, amount_of(1)).is_known);
}
