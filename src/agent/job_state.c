/* SPDX-License-Identifier: MIT */
#include "job_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "error.h"
#include "macro.h"
#include "registry.h"
#include "state.h"

static int take(void *context, const char *name UNUSED, const char *text, size_t length)
{
	struct error err = {};

	return registry_parse_job(context, text, length, &err);
}

int job_state_read(struct state *state, struct registry *registry, struct error *err)
{
	return state_read_all(state, take, registry, err);
}

static bool write_job(struct state *state, struct registry_job *job)
{
	const struct job *known = registry_job_known(job);
	_cleanup_free_ char *text = NULL;
	char name[STATE_NAME_SIZE];

	if (state_name(known->manager, known->id, name) < 0 || registry_format_job(job, &text) < 0)
		return false;
	/* worthless after a loss of power: the job is over then */
	return state_write(state, name, text, strlen(text), false, NULL) == 0;
}

bool job_state_write(struct state *state, struct registry *registry)
{
	bool is_all = true;

	for (struct registry_job *job = NULL; (job = registry_next(registry, job));) {
		if (!registry_job_is_changed(job))
			continue;
		if (write_job(state, job))
			registry_job_saved(job);
		else
			is_all = false;
	}
	return is_all;
}

void job_state_remove(struct state *state, struct registry_job *job)
{
	const struct job *known = registry_job_known(job);
	char name[STATE_NAME_SIZE];

	if (state_name(known->manager, known->id, name) == 0)
		(void)state_remove(state, name, NULL); /* counted, and told as news */
}
