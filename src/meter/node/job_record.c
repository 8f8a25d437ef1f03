/* SPDX-License-Identifier: MIT */
#include "node/job_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "model/record_field.h"

static int set_text(char **to, const char *text)
{
	*to = text && *text ? strdup(text) : NULL;
	return text && *text && !*to ? -ENOMEM : 0;
}

static int set_identity(const struct job *job, const struct job_record_node *node,
			struct record *to)
{
	const struct {
		char **to;
		const char *text;
	} texts[] = {
		{ &to->cluster, node->cluster },
		{ &to->node, node->node },
		{ &to->boot_id, node->boot_id },
		{ &to->agent_version, JOBMETER_VERSION },
		{ &to->job.cpus_allowed, job->cpus_allowed },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++)
		r = set_text(texts[i].to, texts[i].text);
	for (size_t i = 0; r == 0 && i < record_field_count; i++) {
		const void *from = record_field_in_job(&record_fields[i], job);
		void *at = record_field_ref(&record_fields[i], to);

		if (from && record_fields[i].type == FIELD_STRING)
			r = set_text(at, *(char *const *)from);
		else if (from)
			*(int64_t *)at = *(const int64_t *)from;
	}
	return r;
}

static int set_steps(const struct snapshot_job *job, struct record *to)
{
	for (size_t i = 0; i < job->step_count; i++) {
		const struct snapshot_step *from = &job->steps[i];
		struct step *step = steps_add(&to->steps, from->id);

		if (!step)
			return to->steps.count >= STEPS_MAX ? 0 : -ENOMEM;
		step->start_ns = from->start_ns;
		step->end_ns = from->end_ns;
		memcpy(step->values, from->values, sizeof(step->values));
		step->network = *network_of(&from->parts);
	}
	return 0;
}

int job_record_make(const struct snapshot *s, const struct snapshot_job *job,
		    const struct job_record_node *node, bool in_sums, struct record **ret)
{
	_cleanup_(record_freep) struct record *record = record_new();
	int r;

	if (!record)
		return -ENOMEM;
	record->is_final = !job->is_live && !job->is_settling;
	r = set_identity(job->job, node, record);
	if (r == 0)
		r = set_text(&record->job.state, job->is_live ? "RUNNING" : "ENDED");
	if (r == 0)
		r = set_steps(job, record);
	if (r == 0)
		r = in_sums ? snapshot_sum(s, job, &record->reading)
			    : snapshot_expand(s, job, &record->reading);
	if (r == 0)
		r = parts_copy_to(&job->parts, record);
	if (r < 0)
		return r;
	for (size_t i = 0; i < rank_times_of(record)->count; i++)
		snprintf(rank_times_of(record)->items[i].node, RANK_NODE_SIZE, "%s", record->node);
	record->time.start_ns = job->job->start_ns;
	record->time.end_ns = job->is_live ? 0 : job->job->end_ns;
	record->time.measured_from_ns = job->job->measured_from_ns;
	record->time.elapsed_ns = snapshot_job_elapsed(s, job);
	record->coverage.unmeasured_ns = job->job->unmeasured_ns;
	if (job->job->unmeasured_ns)
		r = strings_add(
			&record->coverage.notes,
			"not measured for %s while the agent was restarted: what is by mount, by device and by cause of "
			"waiting lacks what was done then",
			humanize_duration(job->job->unmeasured_ns).text);
	if (r < 0)
		return r;
	record->cores = job->cores;
	record->ranks = job->ranks;
	record->threads = job->threads;
	record->thermal = job->thermal;
	*ret = TAKE_PTR(record);
	return 0;
}

int job_record_add_label(const struct snapshot_job *job, struct record *to)
{
	const struct job *known = job->job;

	if (known->name)
		return 0;
	if (known->label)
		return set_text(&to->job.name, known->label);
	return known->command ? record_set_command(to, (char *const[]){ known->command, NULL }) : 0;
}
