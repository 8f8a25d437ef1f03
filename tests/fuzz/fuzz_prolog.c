/* SPDX-License-Identifier: MIT */
/* Any text as what a prolog wrote of a job: it is taken whole or not at all. */
#include <string.h>

#include "basic/cleanup.h"
#include "basic/cpulist.h"
#include "basic/error.h"
#include "fuzz.h"
#include "jobs/prolog.h"
#include "basic/utf8.h"

static void check_string(const char *text)
{
	_cleanup_free_ char *repaired = text ? utf8_repair(text) : NULL;

	CHECK(!text || (strlen(text) <= 1024 && strcmp(text, repaired) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(job_unrefp) struct job *job = job_new("slurm", "42");
	struct cpulist gpus;
	struct error err = {};

	if (prolog_parse((const char *)data, size, job, &err) < 0) {
		CHECK(*err.text);
		CHECK(!job->user && !job->account && !job->partition && !job->qos && !job->name &&
		      !job->array_id);
		CHECK(job->uid == -1 && job->array_index == -1 && !job->gpus);
		CHECK(!job->allocated_cores.is_known && !job->memory_limit.is_known);
		return 0;
	}
	check_string(job->user);
	check_string(job->account);
	check_string(job->partition);
	check_string(job->qos);
	check_string(job->name);
	check_string(job->array_id);
	CHECK(job->uid >= -1 && job->uid < UINT32_MAX);
	CHECK(!job->gpus || cpulist_parse(job->gpus, &gpus) == 0);
	CHECK(strcmp(job->manager, "slurm") == 0 && strcmp(job->id, "42") == 0);
	return 0;
}
