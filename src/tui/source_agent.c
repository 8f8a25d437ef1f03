/* SPDX-License-Identifier: MIT */
/* The agent of the node: users see their own jobs, root all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/client.h"
#include "basic/error.h"
#include "tui/processes.h"
#include "tui/top_source.h"

struct agent_source {
	struct top_source source;
	struct client *client;
};

static struct client *client_of(struct top_source *s)
{
	return ((struct agent_source *)(void *)s)->client;
}

static void set_waiter_agent(struct top_source *s, const struct waiter *waiter)
{
	client_set_waiter(client_of(s), waiter);
}

static int read_agent(struct top_source *s, uint64_t max_age_ns, uint64_t ended_ns,
		      const struct tick *before, struct tick *ret, struct error *err)
{
	return client_get_snapshot(client_of(s), max_age_ns, ended_ns, before,
				   before && s->takes_sums, ret, err);
}

static int describe_agent(struct top_source *s, const char *manager, const char *id,
			  struct record **ret, struct error *err)
{
	return client_get_record(client_of(s), manager, id, ret, err);
}

static char *copy(const char *text)
{
	return strdup(text ? text : "");
}

static int locate_agent(struct top_source *s, const char *path, struct process_place *ret)
{
	struct client_group group = {};
	int r = client_find_group(client_of(s), path, &group, NULL);

	if (r < 0)
		return r;
	*ret = (struct process_place){ copy(group.manager), copy(group.id), copy(group.step),
				       copy(group.task) };
	client_group_clear(&group);
	return ret->manager && ret->id && ret->step && ret->task ? 0 : -ENOMEM;
}

static void close_agent(struct top_source *s)
{
	client_close(client_of(s));
	free(s);
}

int top_source_open_agent(struct client *client, struct top_source **ret, struct error *err)
{
	struct agent_source *a = calloc(1, sizeof(*a));

	if (!a)
		return error_set_errno(err, ENOMEM, "cannot list the jobs");
	*a = (struct agent_source){ .source = { .name = "agent",
						.starting = "waiting for the agent's first answer",
						.set_waiter = set_waiter_agent,
						.read = read_agent,
						.describe = describe_agent,
						.locate = locate_agent,
						.close = close_agent },
				    .client = client };
	*ret = &a->source;
	return 0;
}

void top_source_closep(struct top_source **s)
{
	if (*s)
		(*s)->close(*s);
}
