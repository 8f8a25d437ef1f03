/* SPDX-License-Identifier: MIT */
#include "sampled_hardware.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "hardware.h"
#include "macro.h"
#include "record.h"
#include "registry.h"

static int begin(struct hardware_source *source, struct sampled_hardware *own, const char *path, const char *cpus,
		 struct error *err)
{
	const struct hardware_place place = { source->root_fd, source->hierarchy, path, cpus };
	int r;

	own->last = calloc(METRIC_JOB_COUNT, sizeof(*own->last));
	if (!own->last)
		return error_set_errno(err, ENOMEM, "cannot be counted");
	r = hardware_open_path(&source->events, &place, source->descriptors_left, &own->hardware, err);
	if (r < 0) {
		free(own->last);
		own->last = NULL;
		return r;
	}
	own->source = source;
	source->descriptors_left -= hardware_descriptors(own->hardware);
	return 0;
}

static void add_counted(struct sampled_hardware *own, struct registry_job *job)
{
	struct value now[METRIC_JOB_COUNT] = {};

	assert(own->last); /* as long as there is hardware */
	hardware_read(own->hardware, now);
	for (size_t id = 0; id < METRIC_JOB_COUNT; id++) {
		if (!now[id].is_known || now[id].number < own->last[id].number)
			continue;
		registry_job_add(job, (enum metric_id)id, now[id].number - own->last[id].number);
		own->last[id] = now[id];
	}
}

/* With room again later jobs may be counted; and a job that waits for it would have lost its beginning. */
void sampled_hardware_read(struct hardware_source *source, struct sampled_hardware *own, struct registry_job *job,
			   const char *path, const char *cpus)
{
	struct error err = {};

	if (!source->is_on)
		return;
	if (!own->hardware && !own->is_refused && path && cpus && source->hierarchy) {
		own->is_refused = begin(source, own, path, cpus, &err) < 0;
		if (own->is_refused)
			source->why = err;
	}
	if (own->hardware)
		add_counted(own, job);
	if (!path)
		sampled_hardware_clear(own);
}

void sampled_hardware_clear(struct sampled_hardware *own)
{
	if (own->hardware)
		own->source->descriptors_left += hardware_descriptors(own->hardware);
	own->hardware = hardware_close(own->hardware);
	free(own->last);
	own->last = NULL;
	own->is_refused = false;
}

int hardware_source_describe(const struct hardware_source *source, struct record *record)
{
	const char *why = *source->why.text ? source->why.text : "it began and ended between two readings";

	if (record->reading.values[METRIC_CPU_COUNTERS_ENABLED].is_known)
		return record_note_counters(record, false);
	return strings_add(&record->coverage.missing, HARDWARE_LABEL "%s", why);
}
