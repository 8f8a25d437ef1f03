/* SPDX-License-Identifier: MIT */
#include "model/job.h"

#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "test.h"

TEST(a_new_job_knows_its_name_and_nothing_else)
{
	_cleanup_(job_unrefp) struct job *job = job_new("slurm", "42");

	ASSERT_STREQ(job->manager, "slurm");
	ASSERT_STREQ(job->id, "42");
	ASSERT_EQ(job->uid, (int64_t)-1);
	ASSERT_EQ(job->array_index, (int64_t)-1);
	ASSERT(!job->user && !job->account && !job->allocated_cores.is_known);
	ASSERT_EQ(job->start_ns, (uint64_t)0);
}

TEST(a_job_lives_as_long_as_somebody_holds_it)
{
	struct job *job = job_new("run", "7"), *again = job_ref(job);

	ASSERT(job == again);
	ASSERT(job_unref(job) == NULL);
	ASSERT_STREQ(again->id, "7");
	job_unref(again);
	ASSERT(job_unref(NULL) == NULL);
}

TEST(a_copy_is_equal_and_its_own)
{
	struct job *job = job_new("slurm", "42");
	_cleanup_(job_unrefp) struct job *copy = NULL;

	job->user = strdup("ada");
	job->gpus = strdup("0-1");
	job->allocated_cores = (struct value){ 4000, true };
	copy = job_copy(job);
	job_unref(job);
	ASSERT_EQ(copy->refs, 1u);
	ASSERT_STREQ(copy->manager, "slurm");
	ASSERT_STREQ(copy->user, "ada");
	ASSERT_STREQ(copy->gpus, "0-1");
	ASSERT(!copy->qos);
	ASSERT_EQ(copy->allocated_cores.number, (uint64_t)4000);
}
