/* SPDX-License-Identifier: MIT */
#include "cli/trace_teller.h"

#include <stdlib.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "cli/commands.h"
#include "client/client.h"
#include "codec/trace_post.h"
#include "trace/traced_sums.h"
#include "trace/tracing.h"

struct trace_teller {
	const struct sites *sites;
	struct client *client;
	struct trace_post post; /* what was told last */
};

struct trace_teller *trace_teller_open(const struct sites *sites)
{
	struct trace_teller *t = calloc(1, sizeof(*t));
	struct error err = {};

	if (t && client_open(NULL, &t->client, &err) < 0) {
		free(t);
		return NULL;
	}
	if (t) {
		t->sites = sites;
		t->post.trace_id = clock_now_ns(CLOCK_BOOTTIME);
	}
	return t;
}

struct trace_teller *trace_teller_close(struct trace_teller *t)
{
	if (!t)
		return NULL;
	client_close(t->client);
	trace_post_clear(&t->post);
	free(t);
	return NULL;
}

static int tell(struct trace_teller *t, const struct tracing_moment *moment, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	int r = traced_sums_read(moment->tracer, t->sites, moment->traced_ns, &t->post.calls);

	t->post.group_id = moment->group_id;
	t->post.is_last = moment->is_last;
	if (r == 0)
		r = trace_post_format(&t->post, &text);
	if (r < 0)
		return error_set_errno(err, r, "cannot read what was counted");
	return client_tell_trace(t->client, text, err);
}

void trace_teller_tell(struct trace_teller *t, const struct tracing_moment *moment)
{
	struct error err = {};

	if (tell(t, moment, &err) == 0 || !moment->is_last)
		return;
	error_prefix(&err, 0, "the job's record lacks what was traced last");
	cli_say(&cmd_trace, &err);
}
