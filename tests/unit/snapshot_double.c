/* SPDX-License-Identifier: MIT */
/* Stands in for the model's jobs and snapshots where there is no agent yet to make them: as their
 * headers say. */
#include <stdlib.h>
#include <string.h>

#include "snapshot.h"

struct job *job_new(const char *manager, const char *id)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->refs = 1;
	job->uid = -1;
	job->manager = strdup(manager);
	job->id = strdup(id);
	return job;
}

struct job *job_unref(struct job *job)
{
	if (!job || --job->refs > 0)
		return NULL;
	free(job->manager);
	free(job->id);
	free(job->name);
	free(job);
	return NULL;
}

struct snapshot *snapshot_new(void)
{
	struct snapshot *s = calloc(1, sizeof(*s));

	if (s)
		s->refs = 1;
	return s;
}

struct snapshot *snapshot_ref(struct snapshot *s)
{
	s->refs++;
	return s;
}

struct snapshot *snapshot_unref(struct snapshot *s)
{
	if (!s || --s->refs > 0)
		return NULL;
	for (size_t i = 0; i < s->job_count; i++) {
		job_unref(s->jobs[i].job);
		free(s->jobs[i].rows);
	}
	for (size_t i = 0; i < s->mount_count; i++)
		free(s->mounts[i].name);
	free(s->jobs);
	free(s->mounts);
	free(s);
	return NULL;
}

void snapshot_unrefp(struct snapshot **s)
{
	snapshot_unref(*s);
}

const struct snapshot_job *snapshot_find(const struct snapshot *s, const char *manager,
					 const char *id)
{
	for (size_t i = 0; i < s->job_count; i++) {
		if (strcmp(s->jobs[i].job->manager, manager) == 0 &&
		    strcmp(s->jobs[i].job->id, id) == 0)
			return &s->jobs[i];
	}
	return NULL;
}
