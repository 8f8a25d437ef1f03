/* SPDX-License-Identifier: MIT */
#include "client/client_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "model/job_name.h"
#include "model/json_place.h"

static void job_clear(struct client_job *job)
{
	free(job->manager);
	free(job->id);
	free(job->name);
	free(job->user);
	free(job->sluid);
	free(job->part);
}

void client_jobs_clear(struct client_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++)
		job_clear(&jobs->items[i]);
	free(jobs->items);
	*jobs = (struct client_jobs){};
}

void client_group_clear(struct client_group *g)
{
	free(g->manager);
	free(g->id);
	free(g->step);
	free(g->task);
	free(g->path);
	free(g->group);
	*g = (struct client_group){};
}

void client_agent_clear(struct client_agent *a)
{
	free(a->version);
	strings_clear(&a->tiers);
	strings_clear(&a->missing);
	strings_clear(&a->notes);
	free(a->push.server);
	free(a->push.why_unsent);
	*a = (struct client_agent){};
}

static int load(const char *text, size_t length, json_t **ret, struct error *err)
{
	json_error_t error;

	*ret = text ? json_loadb(text, length, JSON_REJECT_DUPLICATES, &error) : NULL;
	if (!*ret || !json_is_object(*ret))
		return error_set(err, -EPROTO, "the agent's answer is no JSON%s%s",
				 text && !*ret ? ": " : "", text && !*ret ? error.text : "");
	return 0;
}

/* An error in another program's text says where the text is from. */
static int refuse(int r, struct error *err)
{
	return error_prefix(err, r == -ENOMEM ? r : -EPROTO, "the agent's answer");
}

static int take_job(const struct place *place, const json_t *map, struct client_job *ret)
{
	_cleanup_free_ char *array_id = NULL;
	int64_t array_index = -1, het_offset = -1;
	int r = place_take_string(place, map, "manager", &ret->manager);

	ret->uid = -1;
	if (r == 0)
		r = place_take_string(place, map, "id", &ret->id);
	if (r == 0)
		r = place_take_string(place, map, "name", &ret->name);
	if (r == 0)
		r = place_take_string(place, map, "user", &ret->user);
	if (r == 0)
		r = place_take_signed(place, map, "uid", 0, INT64_MAX, &ret->uid);
	if (r == 0)
		r = place_take_boolean(place, map, "live", &ret->is_live);
	if (r == 0)
		r = place_take_time(place, map, "end", &ret->end_ns);
	if (r == 0)
		r = place_take_string(place, map, "sluid", &ret->sluid);
	if (r == 0)
		r = place_take_string(place, map, "array_id", &array_id);
	if (r == 0)
		r = place_take_signed(place, map, "array_index", 0, INT64_MAX, &array_index);
	if (r == 0)
		r = place_take_signed(place, map, "het_offset", 0, INT64_MAX, &het_offset);
	if (r == 0 && (!ret->manager || !ret->id))
		r = place_refuse(place, "", "lacks manager or id");
	if (r == 0)
		ret->part = job_name_of_part(ret->id, array_id, array_index, het_offset);
	return r;
}

static int add_job(const struct place *place, const json_t *map, void *to)
{
	struct client_jobs *jobs = to;

	return take_job(place, map, &jobs->items[jobs->count++]);
}

int client_parse_jobs(const char *text, size_t length, struct client_jobs *ret, struct error *err)
{
	_cleanup_(client_jobs_clear) struct client_jobs jobs = {};
	_cleanup_(json_freep) json_t *root = NULL;
	struct place place = { .err = err }, here = place_below(&place, "jobs");
	const json_t *list = NULL;
	int r = load(text, length, &root, err);

	if (r < 0)
		return r;
	r = place_get(&place, root, "jobs", JSON_ARRAY, &list);
	if (r < 0 || !list || json_array_size(list) > CLIENT_JOBS_MAX)
		return r < 0 ? refuse(r, err)
			     : error_set(err, -EPROTO, "the agent's answer is no list of jobs");
	jobs.items = calloc(json_array_size(list) + 1, sizeof(*jobs.items));
	if (!jobs.items)
		return error_set_errno(err, ENOMEM, "cannot read the agent's answer");
	r = place_each(&here, list, CLIENT_JOBS_MAX, add_job, &jobs);
	if (r < 0)
		return refuse(r, err);
	*ret = jobs;
	memset(&jobs, 0, sizeof(jobs)); /* they are the caller's now */
	return 0;
}

static int take_strings(const struct place *place, const json_t *map, const char *key,
			struct strings *ret)
{
	const json_t *list = NULL;
	int r = place_get(place, map, key, JSON_ARRAY, &list);

	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (!text)
			return place_refuse(place, key, "holds what is no text");
		r = strings_add(ret, "%s", text);
	}
	return r == -ENOSPC ? 0 : r; /* the first ones do */
}

static int take_push(const struct place *above, const json_t *root, struct client_push *ret)
{
	struct place place = place_below(above, "push");
	const struct {
		const char *key;
		uint64_t *to;
	} counts[] = {
		{ "finals_unsent", &ret->finals_unsent },
		{ "checkpoints_unsent", &ret->checkpoints_unsent },
		{ "finals_dropped", &ret->finals_dropped },
		{ "refused", &ret->refused },
		{ "bytes", &ret->bytes },
		{ "max_bytes", &ret->max_bytes },
	};
	const json_t *push;
	int r = place_get(above, root, "push", JSON_OBJECT, &push);

	if (r < 0 || !push)
		return r;
	r = place_take_string(&place, push, "server", &ret->server);
	if (r == 0)
		r = place_take_string(&place, push, "why_unsent", &ret->why_unsent);
	if (r == 0)
		r = place_take_time(&place, push, "oldest", &ret->oldest_ns);
	if (r == 0)
		r = place_take_time(&place, push, "answered", &ret->answered_ns);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(counts); i++) {
		bool is_known;

		r = place_take_number(&place, push, counts[i].key, 0, counts[i].to, &is_known);
	}
	return r;
}

int client_parse_agent(const char *text, size_t length, struct client_agent *ret, struct error *err)
{
	_cleanup_(client_agent_clear) struct client_agent agent = {};
	_cleanup_(json_freep) json_t *root = NULL;
	struct place place = { .err = err };
	const struct {
		const char *key;
		uint64_t *to;
	} counts[] = {
		{ "jobs_live", &agent.jobs_live },
		{ "readings", &agent.readings },
		{ "failed_readings", &agent.failed_readings },
		{ "lost_events", &agent.lost_events },
	};
	int r = load(text, length, &root, err);

	if (r < 0)
		return r;
	r = place_take_string(&place, root, "version", &agent.version);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(counts); i++) {
		bool is_known;

		r = place_take_number(&place, root, counts[i].key, 0, counts[i].to, &is_known);
	}
	if (r == 0)
		r = take_strings(&place, root, "tiers", &agent.tiers);
	if (r == 0)
		r = take_strings(&place, root, "missing", &agent.missing);
	if (r == 0)
		r = take_strings(&place, root, "notes", &agent.notes);
	if (r == 0)
		r = take_push(&place, root, &agent.push);
	if (r < 0)
		return refuse(r, err);
	if (!agent.version)
		return error_set(err, -EPROTO, "the agent's answer lacks its version");
	*ret = agent;
	memset(&agent, 0, sizeof(agent)); /* it is the caller's now */
	return 0;
}

int client_parse_group(const char *text, size_t length, struct client_group *ret, struct error *err)
{
	_cleanup_(client_group_clear) struct client_group group = {};
	_cleanup_(json_freep) json_t *root = NULL;
	struct place place = { .err = err };
	int r = load(text, length, &root, err);

	if (r < 0)
		return r;
	r = place_take_string(&place, root, "manager", &group.manager);
	if (r == 0)
		r = place_take_string(&place, root, "id", &group.id);
	if (r == 0)
		r = place_take_string(&place, root, "step", &group.step);
	if (r == 0)
		r = place_take_string(&place, root, "task", &group.task);
	if (r == 0)
		r = place_take_string(&place, root, "path", &group.path);
	if (r == 0)
		r = place_take_string(&place, root, "group", &group.group);
	if (r < 0)
		return refuse(r, err);
	if (!group.manager || !group.id)
		return error_set(err, -EPROTO, "the agent's answer lacks manager or id");
	if (group.group && group.group[strspn(group.group, "0123456789")])
		return error_set(err, -EPROTO, "the agent's answer has a group that is no number");
	*ret = group;
	memset(&group, 0, sizeof(group)); /* it is the caller's now */
	return 0;
}

char *client_parse_error(const char *text, size_t length)
{
	_cleanup_(json_freep) json_t *root = json_loadb(text, length, 0, NULL);
	const char *why = json_string_value(json_object_get(root, "error"));

	return why ? strdup(why) : NULL;
}
