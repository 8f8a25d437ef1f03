/* SPDX-License-Identifier: MIT */
#include "model/job_filter.h"

#include "basic/macro.h"
#include "model/job_row.h"
#include "test.h"

static char id[] = "123", name[] = "Train", user[] = "alice", account[] = "physics",
	    state[] = "COMPLETED", manager[] = "slurm", reason[] = "small-reads";

static struct job_row made_row(void)
{
	struct job_row row = JOB_ROW_EMPTY;

	row.id = id;
	row.name = name;
	row.user = user;
	row.account = account;
	row.state = state;
	row.manager = manager;
	row.reason = reason;
	row.uid = 1009;
	row.is_final = true;
	row.start_ns = 100;
	row.end_ns = 200;
	return row;
}

TEST(each_condition_is_asked)
{
	const struct job_row row = made_row();
	const struct {
		struct job_filter filter;
		bool matches;
	} rows[] = {
		{ {}, true },
		{ { .user = "alice" }, true },
		{ { .user = "Alice" }, false },
		{ { .user = "1009" }, true },
		{ { .user = "100" }, false },
		{ { .account = "physics", .manager = "slurm" }, true },
		{ { .account = "physics", .manager = "pbs" }, false },
		{ { .partition = "debug" }, false }, /* it has none */
		{ { .state = "completed" }, true },
		{ { .state = "running" }, false },
		{ { .name = "Train" }, true },
		{ { .name = "train" }, false },
		{ { .id = "123" }, true },
		{ { .id = "12" }, false },
		{ { .text = "PHYS" }, true },
		{ { .text = "reads" }, true },
		{ { .text = "23" }, true },
		{ { .text = "slurm" }, false },
		{ { .since_ns = 200 }, true },
		{ { .since_ns = 201 }, false },
		{ { .until_ns = 101 }, true },
		{ { .until_ns = 100 }, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ASSERT_EQ(job_filter_matches(&rows[i].filter, &row) * 100 + (int)i,
			  rows[i].matches * 100 + (int)i);
}

TEST(a_job_that_has_not_ended_was_last_seen_at_its_checkpoint)
{
	struct job_row row = made_row();
	struct job_filter filter = { .since_ns = 151 };

	row.is_final = false;
	row.end_ns = 0;
	row.elapsed_ns = 50;
	ASSERT(!job_filter_matches(&filter, &row));
	row.elapsed_ns = 51;
	ASSERT(job_filter_matches(&filter, &row));
}

TEST(conditions_have_the_names_of_a_query)
{
	const struct job_filter filter = { .user = "u", .text = "t" };
	size_t given = 0;

	for (size_t i = 0; job_filter_key(i); i++)
		given += job_filter_text(&filter, i) != NULL;
	ASSERT_EQ((uint64_t)given, (uint64_t)2);
	ASSERT_STREQ(job_filter_key(0), "user");
	ASSERT_STREQ(job_filter_text(&filter, 0), "u");
}
