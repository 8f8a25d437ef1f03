/* SPDX-License-Identifier: MIT */
#include "codec/agent_answer.h"

#include <stdlib.h>

#include "basic/macro.h"
#include "model/job_name.h"
#include "model/json_place.h"
#include "model/shape.h"

static int check_job(const struct place *place, void *of)
{
	struct client_job *j = of;

	if (!j->manager || !j->id)
		return place_refuse(place, "", "lacks manager or id");
	j->part = job_name_of_part(j->id, j->array_id, j->array_index, j->het_offset);
	return 0;
}

#define JOB(member) offsetof(struct client_job, member)
#define PUSH(member) offsetof(struct client_push, member)
#define AGENT(member) offsetof(struct client_agent, member)
#define GROUP(member) offsetof(struct client_group, member)

/* clang-format off */
static const struct field job_fields[] = {
	{ "manager", SHAPE_STRING, 0, JOB(manager) },
	{ "id", SHAPE_STRING, 0, JOB(id) },
	{ "name", SHAPE_STRING, 0, JOB(name) },
	{ "user", SHAPE_STRING, 0, JOB(user) },
	{ "uid", SHAPE_SIGNED, 0, JOB(uid), sizeof(int64_t), .most = INT64_MAX },
	{ "live", SHAPE_BOOL, 0, JOB(is_live) },
	{ "end", SHAPE_TIME, 0, JOB(end_ns) },
	{ "sluid", SHAPE_STRING, 0, JOB(sluid) },
	{ "array_id", SHAPE_STRING, 0, JOB(array_id) },
	{ "array_index", SHAPE_SIGNED, 0, JOB(array_index), sizeof(int64_t), .most = INT64_MAX },
	{ "het_offset", SHAPE_SIGNED, 0, JOB(het_offset), sizeof(int64_t), .most = INT64_MAX },
};
static const struct client_job blank_job = { .uid = -1, .array_index = -1, .het_offset = -1 };
static const struct shape job_shape = { SHAPE_OF(struct client_job, job_fields), .blank = &blank_job,
	.check = check_job, .max = CLIENT_JOBS_MAX };
static const struct field jobs_fields[] = { { "jobs", SHAPE_LIST, 0, 0, .rows = &job_shape } };
const struct shape client_jobs_shape = { SHAPE_OF(struct client_jobs, jobs_fields) };

static const struct field push_fields[] = {
	{ "server", SHAPE_STRING, 0, PUSH(server) },
	{ "finals_unsent", SHAPE_NUMBER, 0, PUSH(finals_unsent) },
	{ "checkpoints_unsent", SHAPE_NUMBER, 0, PUSH(checkpoints_unsent) },
	{ "bytes", SHAPE_NUMBER, 0, PUSH(bytes) },
	{ "max_bytes", SHAPE_NUMBER, 0, PUSH(max_bytes) },
	{ "oldest", SHAPE_TIME, 0, PUSH(oldest_ns) },
	{ "answered", SHAPE_TIME, 0, PUSH(answered_ns) },
	{ "http_status", SHAPE_NUMBER, SHAPE_OR_NULL, PUSH(http_status) },
	{ "taken", SHAPE_NUMBER, 0, PUSH(taken) },
	{ "known", SHAPE_NUMBER, 0, PUSH(known) },
	{ "refused", SHAPE_NUMBER, 0, PUSH(refused) },
	{ "finals_dropped", SHAPE_NUMBER, 0, PUSH(finals_dropped) },
	{ "checkpoints_dropped", SHAPE_NUMBER, 0, PUSH(checkpoints_dropped) },
	{ "why_unsent", SHAPE_STRING, 0, PUSH(why_unsent) },
};
static const struct client_push blank_push = { .is_on = true };
static const struct shape push_shape = { SHAPE_OF(struct client_push, push_fields), .blank = &blank_push };
static const struct field whole_fields[] = {
	{ "groups", SHAPE_NUMBER, 0, AGENT(groups) },
	{ "walks", SHAPE_NUMBER, 0, AGENT(walks) },
	{ "found_by_walk", SHAPE_NUMBER, 0, AGENT(found_by_walk) },
	{ "state_errors", SHAPE_NUMBER, 0, AGENT(state_errors) },
	{ "set_aside", SHAPE_NUMBER, 0, AGENT(set_aside) },
	{ "lost_events", SHAPE_NUMBER, 0, AGENT(lost_events) },
	{ "push", SHAPE_MAP, SHAPE_IF_KNOWN | SHAPE_OR_NULL, AGENT(push), .rows = &push_shape },
};
static const struct shape whole_shape = { SHAPE_OF(struct client_agent, whole_fields) };
static const struct field agent_fields[] = {
	{ "version", SHAPE_STRING, 0, AGENT(version) },
	{ "readings", SHAPE_NUMBER, 0, AGENT(readings) },
	{ "failed_readings", SHAPE_NUMBER, 0, AGENT(failed_readings) },
	{ "last_reading_seconds", SHAPE_NUMBER, 0, AGENT(last_reading_ns), .unit = UNIT_SECONDS },
	{ "jobs_live", SHAPE_NUMBER, 0, AGENT(jobs_live) },
	{ "jobs_ended", SHAPE_NUMBER, 0, AGENT(jobs_ended) },
	{ NULL, SHAPE_MAP, SHAPE_IF_KNOWN, AGENT(is_whole), .rows = &whole_shape },
	{ "tiers", SHAPE_LINES, 0, AGENT(tiers) },
	{ "missing", SHAPE_LINES, 0, AGENT(missing) },
	{ "notes", SHAPE_LINES, 0, AGENT(notes) },
};
const struct shape client_agent_shape = { SHAPE_OF(struct client_agent, agent_fields) };

static const struct field group_fields[] = {
	{ "manager", SHAPE_STRING, 0, GROUP(manager) },
	{ "id", SHAPE_STRING, 0, GROUP(id) },
	{ "step", SHAPE_STRING, 0, GROUP(step) },
	{ "task", SHAPE_STRING, 0, GROUP(task) },
	{ "path", SHAPE_STRING, 0, GROUP(path) },
};
const struct shape client_group_shape = { SHAPE_OF(struct client_group, group_fields) };
static const struct field run_fields[] = {
	{ "manager", SHAPE_STRING, 0, GROUP(manager) },
	{ "id", SHAPE_STRING, 0, GROUP(id) },
	{ "path", SHAPE_STRING, 0, GROUP(path) },
	{ "group", SHAPE_ID, SHAPE_OMIT, GROUP(group_id) },
};
const struct shape client_run_shape = { SHAPE_OF(struct client_group, run_fields) };
/* clang-format on */

void client_jobs_clear(struct client_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++)
		free(jobs->items[i].part);
	shape_clear(&client_jobs_shape, jobs);
}

void client_agent_clear(struct client_agent *a)
{
	shape_clear(&client_agent_shape, a);
}

void client_group_clear(struct client_group *g)
{
	shape_clear(&client_group_shape, g);
}
