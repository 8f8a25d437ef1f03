/* SPDX-License-Identifier: MIT */
#include "model/job.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"

/* All strings that a job owns. */
static const size_t strings[] = {
	offsetof(struct job, manager),	 offsetof(struct job, id),
	offsetof(struct job, user),	 offsetof(struct job, account),
	offsetof(struct job, partition), offsetof(struct job, name),
	offsetof(struct job, qos),	 offsetof(struct job, cpus_allowed),
	offsetof(struct job, gpus),	 offsetof(struct job, array_id),
	offsetof(struct job, command),	 offsetof(struct job, label),
};

static char **string_in(struct job *job, size_t i)
{
	return (char **)(void *)((char *)job + strings[i]);
}

struct job *job_new(const char *manager, const char *id)
{
	_cleanup_(job_unrefp) struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->refs = 1;
	job->uid = job->array_index = -1;
	job->manager = strdup(manager);
	job->id = strdup(id);
	return job->manager && job->id ? TAKE_PTR(job) : NULL;
}

struct job *job_copy(const struct job *job)
{
	_cleanup_(job_unrefp) struct job *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *job;
	copy->refs = 1;
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		*string_in(copy, i) = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
		const char *from = *string_in((struct job *)job, i);

		if (!from)
			continue;
		*string_in(copy, i) = strdup(from);
		if (!*string_in(copy, i))
			return NULL;
	}
	return TAKE_PTR(copy);
}

struct job *job_ref(struct job *job)
{
	job->refs++;
	return job;
}

struct job *job_unref(struct job *job)
{
	if (!job)
		return NULL;
	assert(job->refs > 0);
	if (--job->refs > 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		free(*string_in(job, i));
	free(job);
	return NULL;
}

void job_unrefp(struct job **job)
{
	job_unref(*job);
}
