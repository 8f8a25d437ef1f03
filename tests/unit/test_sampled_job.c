/* SPDX-License-Identifier: MIT */
#include "node/sampled_job.h"

#include <unistd.h>

#include "basic/cleanup.h"
#include "lives.h"
#include "model/snapshot.h"
#include "sources/sources.h"
#include "test.h"
#include "tree.h"

TEST(what_was_granted_to_a_job_stays_when_it_is_over)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;
	_cleanup_close_ int root = tree_open("granted");
	struct job_sources sources = { .root_fd = root, .prolog_dir = "run/jobmeter/jobs" };
	const struct source_options options = { .root_fd = root };
	const bool is_wanted[SOURCES_MAX] = {};
	struct group_life l = life(1, 0, 110, 120, "/slurm/uid_1000/job_42");
	struct cgroup_tasks t = tasks_of(1, 5 * SECOND, 0, 1);
	struct registry_job *job;
	struct job *facts;

	ASSERT_OK(sources_open(sources_all(), is_wanted, &options, &sources.sources));
	learn(r, 130, &l, 1);
	feed(r, &t, 1, NULL, 0);
	job = registry_find(r, "slurm", "42");
	facts = registry_job_facts(job); /* of a reading before */
	ASSERT(facts);
	facts->allocated_cores = (struct value){ 4000, true };
	facts->memory_limit = (struct value){ 8589934592, true };
	ASSERT_OK(sampled_job_read(&sources, job, 130 * SECOND));
	s = snap(r, 130);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_ALLOCATED), UINT64_C(4000));
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_MEMORY_LIMIT), UINT64_C(8589934592));
	sources_free(sources.sources);
}
