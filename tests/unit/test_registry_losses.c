/* SPDX-License-Identifier: MIT */
#include "load/losses.h"

#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "lives.h"
#include "test.h"

#define JOB "/slurm/uid_1000/job_42"
#define OTHER "/slurm/uid_1000/job_43"

/* Two jobs; of the first's group 2 its top one answers, for a `run` of the user's. */
static struct registry *two_jobs(void)
{
	struct group_life lives[] = { life(1, 0, 110, 0, JOB),
				      life(2, 1, 111, 0, JOB "/jobmeter-run-9"),
				      life(3, 0, 112, 0, OTHER) };
	struct registry *r = lives_registry();

	lives[1].answers = 1;
	learn(r, 120, lives, 3);
	return r;
}

static void feed_losses(struct registry *r, const struct cgroup_loss *losses, size_t count,
			uint64_t clock_nowhere)
{
	const struct losses nowhere = { .counts = { [LOST_CLOCK] = clock_nowhere } };

	FEED(r, .losses = losses, .loss_count = count, .nowhere = &nowhere);
}

static uint64_t lost(struct registry *r, const char *manager, const char *id, size_t reason)
{
	return registry_job_losses(registry_find(r, manager, id))->counts[reason];
}

TEST(a_loss_is_that_of_the_jobs_where_it_was)
{
	_cleanup_(registry_freep) struct registry *r = two_jobs();
	const struct cgroup_loss first[] = { { 1, LOST_ROW, 0, 5 } };
	const struct cgroup_loss second[] = { { 1, LOST_ROW, 0, 7 },
					      { 1, LOST_PLACE, 0, 3 },
					      { 4711, LOST_ROW, 0, 99 } };

	feed_losses(r, first, 1, 0);
	feed_losses(r, second, 3, 0);
	ASSERT_EQ(lost(r, "slurm", "42", LOST_ROW), UINT64_C(7));
	ASSERT_EQ(lost(r, "slurm", "42", LOST_PLACE), UINT64_C(3));
	ASSERT_EQ(lost(r, "run", "9", LOST_ROW), UINT64_C(7)); /* in which of the two it was nobody
								  knows */
	ASSERT_EQ(lost(r, "slurm", "43", LOST_ROW), UINT64_C(0));
}

TEST(a_job_has_none_of_what_was_lost_before_it_began)
{
	_cleanup_(registry_freep) struct registry *r = two_jobs();
	const struct cgroup_loss losses[] = { { 1, LOST_ROW, 0, 5 } };
	struct group_life later[] = { life(1, 0, 110, 0, JOB),
				      life(2, 1, 111, 0, JOB "/jobmeter-run-9"),
				      life(3, 0, 112, 0, OTHER),
				      life(5, 1, 130, 0, JOB "/jobmeter-run-10") };

	later[3].answers = 1;
	feed_losses(r, losses, 1, 11);
	learn(r, 131, later, 4);
	feed_losses(r, losses, 1, 11);
	ASSERT_EQ(lost(r, "run", "10", LOST_ROW), UINT64_C(0));
	ASSERT_EQ(lost(r, "run", "10", LOST_CLOCK), UINT64_C(0));
}

TEST(what_nobody_knows_the_place_of_is_that_of_all_who_lived_then)
{
	_cleanup_(registry_freep) struct registry *r = two_jobs();
	const struct group_life ended[] = { life(3, 0, 112, 125, OTHER) };

	feed_losses(r, NULL, 0, 2);
	learn(r, 126, ended, 1);
	feed_losses(r, NULL, 0, 5); /* since it was seen last: it may be its */
	feed_losses(r, NULL, 0, 100);
	ASSERT_EQ(lost(r, "slurm", "43", LOST_CLOCK), UINT64_C(5));
	ASSERT_EQ(lost(r, "slurm", "42", LOST_CLOCK), UINT64_C(100));
}

TEST(they_go_with_the_state_and_who_takes_over_counts_none_twice)
{
	_cleanup_(registry_freep) struct registry *before = two_jobs(), *r = lives_registry();
	const struct cgroup_loss losses[] = { { 3, LOST_TASK, 0, 5 } },
				 more[] = { { 3, LOST_TASK, 0, 8 } };
	const struct group_life lives[] = { life(3, 0, 112, 0, OTHER) };
	_cleanup_free_ char *text = NULL;

	feed_losses(before, losses, 1, 0);
	ASSERT_OK(registry_format_job(registry_find(before, "slurm", "43"), &text));
	ASSERT_OK(registry_parse_job(r, text, strlen(text), NULL));
	ASSERT_EQ(lost(r, "slurm", "43", LOST_TASK), UINT64_C(5));
	ASSERT_OK(registry_resume(r, true, 130 * SECOND));
	learn(r, 131, lives, 1);
	feed_losses(r, more, 1, 0);
	ASSERT_EQ(lost(r, "slurm", "43", LOST_TASK), UINT64_C(8));
}
