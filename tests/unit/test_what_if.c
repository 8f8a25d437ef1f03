/* SPDX-License-Identifier: MIT */
#include "predict/what_if.h"

#include <errno.h>
#include <math.h>

#include "test.h"

#define JOBS 400

/* 50 W, 5 W more for each busy core, and 1 W for 10 MB/s. */
static void fill(struct past_job jobs[JOBS])
{
	for (size_t i = 0; i < JOBS; i++) {
		double busy = test_below(32), rate = 1e6 * test_below(100), seconds = 60 + i;

		jobs[i] = (struct past_job){ .request.cores = 32 };
		for (enum target t = 0; t < TARGETS; t++)
			jobs[i].outcome.values[t] = NAN;
		jobs[i].outcome.values[TARGET_RUNTIME] = seconds;
		jobs[i].outcome.values[TARGET_CORES] = busy;
		jobs[i].outcome.read_bytes = rate * seconds;
		jobs[i].outcome.write_bytes = 0;
		jobs[i].outcome.values[TARGET_ENERGY] = (50 + 5 * busy + rate / 1e7) * seconds;
	}
}

TEST(the_law_of_measured_power_is_found)
{
	struct past_job jobs[JOBS];
	struct what_if told;

	fill(jobs);
	ASSERT_OK(what_if_ask(jobs, JOBS, (double[USES]){ 32, 20, 5e7, 0 }, &told));
	ASSERT_EQ(told.jobs, (size_t)(JOBS - JOBS / 5));
	ASSERT(fabs(told.watts - 155) < 5);
	ASSERT(told.low <= 155 && told.high >= 155 && told.high - told.low < 30);
	/* what is not said is as in the mean of the jobs */
	ASSERT_OK(what_if_ask(jobs, JOBS, (double[USES]){ NAN, NAN, NAN, NAN }, &told));
	ASSERT(fabs(told.watts - (50 + 5 * 15.5 + 4.95)) < 15);
	/* no power beyond those that were measured */
	ASSERT_OK(what_if_ask(jobs, JOBS, (double[USES]){ 4096, 4096, 0, 0 }, &told));
	ASSERT(told.watts <= 50 + 5 * 31 + 9.9 + 0.1);
}

TEST(without_measured_energy_nothing_is_known)
{
	struct past_job jobs[JOBS];
	struct what_if told;

	fill(jobs);
	ASSERT_ERR(what_if_ask(NULL, 0, (double[USES]){}, &told), -ENODATA);
	ASSERT_ERR(what_if_ask(jobs, 50, (double[USES]){}, &told), -ENODATA);
	for (size_t i = 0; i < JOBS; i++)
		jobs[i].outcome.values[TARGET_ENERGY] = NAN;
	ASSERT_ERR(what_if_ask(jobs, JOBS, (double[USES]){}, &told), -ENODATA);
	ASSERT_EQ(told.jobs, (size_t)0);
}
