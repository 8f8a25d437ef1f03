/* SPDX-License-Identifier: MIT */
#include "model/job.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "model/record_field.h"

/* Strings that a job owns besides its facts. */
static const size_t others[] = {
	offsetof(struct job, cpus_allowed),
	offsetof(struct job, gpus),
	offsetof(struct job, command),
	offsetof(struct job, label),
};

/* The @i-th string; NULL: there are no more. */
static char **string_in(struct job *job, size_t i)
{
	if (i < ARRAY_SIZE(others))
		return (char **)(void *)((char *)job + others[i]);
	i -= ARRAY_SIZE(others);
	for (size_t k = 0; k < record_field_count; k++) {
		const struct record_field *field = &record_fields[k];

		if (field->in_job && field->type == FIELD_STRING && i-- == 0)
			return record_field_in_job(field, job);
	}
	return NULL;
}

struct job *job_new(const char *manager, const char *id)
{
	_cleanup_(job_unrefp) struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->refs = 1;
	job->uid = job->array_index = job->het_offset = -1;
	job->manager = strdup(manager);
	job->id = strdup(id);
	return job->manager && job->id ? TAKE_PTR(job) : NULL;
}

struct job *job_copy(const struct job *job)
{
	_cleanup_(job_unrefp) struct job *copy = calloc(1, sizeof(*copy));
	char **to;

	if (!copy)
		return NULL;
	*copy = *job;
	copy->refs = 1;
	for (size_t i = 0; (to = string_in(copy, i)); i++)
		*to = NULL;
	for (size_t i = 0; (to = string_in(copy, i)); i++) {
		const char *from = *string_in((struct job *)job, i);

		*to = from ? strdup(from) : NULL;
		if (from && !*to)
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
	char **string;

	if (!job)
		return NULL;
	assert(job->refs > 0);
	if (--job->refs > 0)
		return NULL;
	for (size_t i = 0; (string = string_in(job, i)); i++)
		free(*string);
	free(job);
	return NULL;
}

void job_unrefp(struct job **job)
{
	job_unref(*job);
}
