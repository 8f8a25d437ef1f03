/* SPDX-License-Identifier: MIT */
#include "model/job.h"

#include <string.h>

#include "basic/cleanup.h"
#include "test.h"

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
	ASSERT(!copy->qos && copy->array_index == -1);
	ASSERT_EQ(copy->allocated_cores.number, (uint64_t)4000);
}
