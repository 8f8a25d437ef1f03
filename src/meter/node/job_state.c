/* SPDX-License-Identifier: MIT */
#include "node/job_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "jobs/registry.h"
#include "node/state.h"

static int take(void *context, const char *name UNUSED, const char *text, size_t length,
		struct error *err)
{
	return registry_parse_job(context, text, length, err);
}

int job_state_read(struct state *state, struct registry *registry, struct error *err)
{
	return state_read_all(state, take, registry, err);
}

static int format_job(struct registry_job *job, char name[STATE_NAME_SIZE], char **ret)
{
	const struct job *known = registry_job_known(job);
	int r = state_name(known->manager, registry_job_name(job), registry_job_maker(job), name);

	return r < 0 ? r : registry_format_job(job, ret);
}

bool job_state_write_one(struct state *state, struct registry_job *job)
{
	_cleanup_free_ char *text = NULL;
	char name[STATE_NAME_SIZE];

	if (format_job(job, name, &text) < 0)
		return false;
	/* worthless after a loss of power: the job is over then */
	if (state_write(state, name, text, strlen(text), false, NULL) < 0)
		return false;
	registry_job_saved(job);
	return true;
}

bool job_state_write(struct state *state, struct registry *registry)
{
	bool is_all = true;

	for (struct registry_job *job = NULL; (job = registry_next(registry, job));) {
		if (registry_job_is_changed(job))
			is_all &= job_state_write_one(state, job);
	}
	return is_all;
}

static int write_last(struct state *state, struct registry_job *job, uint32_t kernel_side,
		      struct error *err)
{
	_cleanup_free_ char *text = NULL;
	char name[STATE_NAME_SIZE];
	int r = format_job(job, name, &text);

	if (r < 0)
		return error_set_errno(err, r, "cannot write the state of job '%.200s'",
				       registry_job_known(job)->id);
	return state_write_last(state, name, kernel_side, text, strlen(text), err);
}

int job_state_write_last(struct state *state, struct registry *registry, uint32_t kernel_side,
			 struct error *err)
{
	int r = 0;

	for (struct registry_job *job = NULL; r >= 0 && (job = registry_next(registry, job));) {
		if (registry_job_is_changed(job))
			r = write_last(state, job, kernel_side, err);
	}
	return r;
}

void job_state_remove(struct state *state, struct registry_job *job)
{
	const struct job *known = registry_job_known(job);
	char name[STATE_NAME_SIZE];

	if (state_name(known->manager, registry_job_name(job), registry_job_maker(job), name) == 0)
		(void)state_remove(state, name, NULL); /* counted, and reported as news */
}
