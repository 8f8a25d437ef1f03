/* SPDX-License-Identifier: MIT */
#include "client/client_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "model/json_place.h"
#include "model/shape.h"

/* The caller clears *ret, on failure, too; and owns *root. */
static int parse(const struct shape *shape, const char *text, size_t length, void *ret,
		 json_t **root, struct error *err)
{
	const struct place place = { .err = err };
	json_error_t error;
	int r;

	*root = text ? json_loadb(text, length, JSON_REJECT_DUPLICATES, &error) : NULL;
	if (!*root || !json_is_object(*root))
		return error_set(err, -EPROTO, "the agent's answer is no JSON%s%s",
				 text && !*root ? ": " : "", text && !*root ? error.text : "");
	r = shape_parse(shape, &place, *root, ret);
	/* an error in another program's text says where the text is from */
	return r == 0 ? 0 : error_prefix(err, r == -ENOMEM ? r : -EPROTO, "the agent's answer");
}

int client_parse_jobs(const char *text, size_t length, struct client_jobs *ret, struct error *err)
{
	_cleanup_(client_jobs_clear) struct client_jobs jobs = {};
	_cleanup_(json_freep) json_t *root = NULL;
	int r = parse(&client_jobs_shape, text, length, &jobs, &root, err);

	if (r < 0)
		return r;
	if (!place_member(root, "jobs"))
		return error_set(err, -EPROTO, "the agent's answer is no list of jobs");
	*ret = jobs;
	jobs = (struct client_jobs){}; /* they are the caller's now */
	return 0;
}

int client_parse_agent(const char *text, size_t length, struct client_agent *ret, struct error *err)
{
	_cleanup_(client_agent_clear) struct client_agent agent = {};
	_cleanup_(json_freep) json_t *root = NULL;
	int r = parse(&client_agent_shape, text, length, &agent, &root, err);

	if (r < 0)
		return r;
	if (!agent.version)
		return error_set(err, -EPROTO, "the agent's answer lacks its version");
	*ret = agent;
	agent = (struct client_agent){}; /* it is the caller's now */
	return 0;
}

static int parse_group(const struct shape *shape, const char *text, size_t length,
		       struct client_group *ret, struct error *err)
{
	_cleanup_(client_group_clear) struct client_group group = {};
	_cleanup_(json_freep) json_t *root = NULL;
	int r = parse(shape, text, length, &group, &root, err);

	if (r < 0)
		return r;
	if (!group.manager || !group.id)
		return error_set(err, -EPROTO, "the agent's answer lacks manager or id");
	*ret = group;
	group = (struct client_group){}; /* it is the caller's now */
	return 0;
}

int client_parse_group(const char *text, size_t length, struct client_group *ret, struct error *err)
{
	return parse_group(&client_group_shape, text, length, ret, err);
}

int client_parse_run(const char *text, size_t length, struct client_group *ret, struct error *err)
{
	return parse_group(&client_run_shape, text, length, ret, err);
}

char *client_parse_error(const char *text, size_t length)
{
	_cleanup_(json_freep) json_t *root = json_loadb(text, length, 0, NULL);
	const char *why = json_string_value(json_object_get(root, "error"));

	return why ? strdup(why) : NULL;
}
