/* SPDX-License-Identifier: MIT */
#include "agent/push.h"

#include <stdio.h>

#include "model/record.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)
#define INTERVAL (300 * SECOND)
#define JOBS 1024

static struct spool_key key_of(unsigned int number)
{
	char id[16];
	const struct record who = { .node = (char *)"n1",
				    .boot_id = (char *)"b",
				    .job = { .manager = (char *)"slurm", .id = id } };

	snprintf(id, sizeof(id), "%u", number);
	return spool_key_of(&who);
}

TEST(each_job_has_one_checkpoint_in_an_interval_however_it_is_cut)
{
	static const uint64_t steps[] = { SECOND, 10 * SECOND, 7 * SECOND, INTERVAL };

	for (size_t k = 0; k < sizeof(steps) / sizeof(*steps); k++) {
		for (unsigned int job = 0; job < 50; job++) {
			struct spool_key key = key_of(job);
			uint64_t begun = 12345 * SECOND + 67, at = begun, next;
			unsigned int times = 0;

			for (; at < begun + 7 * INTERVAL; at = next) {
				next = at + steps[k];
				next = next > begun + 7 * INTERVAL ? begun + 7 * INTERVAL : next;
				times += push_is_due(&key, INTERVAL, at, next);
			}
			ASSERT_EQ(times, 7u);
		}
	}
}

TEST(checkpoints_of_many_jobs_are_spread_over_the_interval)
{
	unsigned int most = 0, sum = 0;

	for (uint64_t at = 1000 * SECOND; at < 1000 * SECOND + INTERVAL; at += 5 * SECOND) {
		unsigned int due = 0;

		for (unsigned int job = 0; job < JOBS; job++) {
			struct spool_key key = key_of(job);

			due += push_is_due(&key, INTERVAL, at, at + 5 * SECOND);
		}
		most = due > most ? due : most;
		sum += due;
	}
	ASSERT_EQ(sum, (unsigned int)JOBS);
	ASSERT(most < 3 * JOBS / 60);
}
