/* SPDX-License-Identifier: MIT */
#include "client/client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "client/client_json.h"
#include "basic/decimal.h"
#include "basic/error.h"
#include "client/endpoint.h"
#include "model/record.h"
#include "codec/records.h"
#include "codec/wire_snapshot.h"

#define AHEAD \
	"0.1" /* seconds: a second reading that is taken sooner behind the first is of no use */

struct client {
	struct endpoint agent;
};

struct client *client_close(struct client *c)
{
	if (!c)
		return NULL;
	endpoint_clear(&c->agent);
	free(c);
	return NULL;
}

void client_closep(struct client **c)
{
	client_close(*c);
}

static int ask(const struct client *c, const char *target, const char *body, int timeout_ms,
	       struct reply *ret, struct error *err)
{
	return endpoint_ask(&c->agent, target, body, timeout_ms, ret, err);
}

int client_open(const char *socket_path, struct client **ret, struct error *err)
{
	_cleanup_(client_closep) struct client *c = calloc(1, sizeof(*c));
	_cleanup_(reply_clear) struct reply reply = {};
	const char *named = getenv("JOBMETER_SOCKET");
	int r;

	if (!socket_path)
		socket_path = named && *named ? named : CLIENT_SOCKET;
	if (!c)
		return error_set_errno(err, ENOMEM, "cannot ask the agent");
	r = endpoint_init("agent", socket_path, CLIENT_ANSWER_MAX, &c->agent, err);
	if (r == 0)
		r = ask(c, "/health", NULL, CLIENT_HELLO_MS, &reply, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

void client_set_waiter(struct client *c, const struct waiter *waiter)
{
	c->agent.waiter = waiter;
}

const char *client_socket_path(const struct client *c)
{
	return c->agent.path;
}

int client_get_agent(struct client *c, struct client_agent *ret, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	int r = ask(c, "/v1/agent", NULL, CLIENT_ANSWER_MS, &answer, err);

	return r < 0 ? r : client_parse_agent(answer.text, answer.length, ret, err);
}

static int get_text(struct client *c, const char *path, char **ret, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	int r = ask(c, path, NULL, CLIENT_ANSWER_MS, &answer, err);

	if (r == 0)
		*ret = strdup(answer.text ? answer.text : "");
	return r < 0 || *ret ? r : error_set_errno(err, ENOMEM, "cannot ask the agent");
}

int client_get_energy(struct client *c, char **ret, struct error *err)
{
	return get_text(c, "/v1/energy", ret, err);
}

int client_get_gpus(struct client *c, char **ret, struct error *err)
{
	return get_text(c, "/v1/gpus", ret, err);
}

int client_get_or(bool is_standalone, int (*get)(struct client *c, char **ret, struct error *err),
		  int (*measure)(char **ret, struct error *err), char **ret, struct error *err)
{
	_cleanup_(client_closep) struct client *client = NULL;
	int r = is_standalone ? -ENOENT : client_open(NULL, &client, err);

	if (r == -ENOENT || r == -ECONNREFUSED) {
		*err = (struct error){};
		return measure(ret, err);
	}
	return r < 0 ? r : get(client, ret, err);
}

int client_list_jobs(struct client *c, struct client_jobs *ret, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	int r = ask(c, "/v1/jobs", NULL, CLIENT_ANSWER_MS, &answer, err);

	return r < 0 ? r : client_parse_jobs(answer.text, answer.length, ret, err);
}

static int take_record(const struct client *c, const struct reply *answer, struct record **ret,
		       struct error *err)
{
	_cleanup_(records_clear) struct records records = {};
	int r = records_parse(answer->text ? answer->text : "", answer->length, c->agent.path,
			      &records, err);

	if (r < 0)
		return error_prefix(err, r == -ENOMEM ? r : -EPROTO, "the agent's answer");
	if (records.count != 1)
		return error_set(err, -EPROTO, "the agent's answer is not one record");
	*ret = TAKE_PTR(records.items[0]);
	return 0;
}

/* "/START/TEXT[END]", with the text encoded. */
static char *make_target(const char *start, const char *text, const char *end)
{
	_cleanup_free_ char *encoded = percent_encode(text);
	char *target;

	return encoded && asprintf(&target, "%s%s%s", start, encoded, end) >= 0 ? target : NULL;
}

int client_get_record(struct client *c, const char *manager, const char *id, struct record **ret,
		      struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	_cleanup_free_ char *end = make_target("/", id, "");
	_cleanup_free_ char *target = end ? make_target("/v1/jobs/", manager, end) : NULL;
	int r;

	if (!target)
		return error_set_errno(err, ENOMEM, "cannot ask the agent");
	r = ask(c, target, NULL, CLIENT_ANSWER_MS, &answer, err);
	return r < 0 ? r : take_record(c, &answer, ret, err);
}

static int get_wire_snapshot(struct client *c, uint64_t max_age_ns, uint64_t ended_ns,
			     const struct tick *before, const char *more, struct tick *ret,
			     struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	char target[256], age[DECIMAL_SIZE], ended[DECIMAL_SIZE], since[DECIMAL_SIZE];
	int r;

	snprintf(target, sizeof(target), "/v1/snapshot?max_age=%s&ended=%s&since=%s%s",
		 decimal_format(age, max_age_ns, 9), decimal_format(ended, ended_ns, 9),
		 decimal_format(since, before ? before->boot_ns : 0, 9), more);
	r = ask(c, target, NULL, CLIENT_ANSWER_MS, &answer, err);
	if (r == -ENOENT && answer.text) /* there was an answer */
		return error_set(err, -EPROTO,
				 "the agent at '%s' is older than this program: it knows no ticks",
				 c->agent.path);
	if (r < 0)
		return r;
	r = wire_snapshot_parse(answer.text ? answer.text : "", answer.length, before, ret, err);
	return r < 0 && r != -ESTALE
		       ? error_prefix(err, r == -ENOMEM ? r : -EPROTO, "the agent's answer")
		       : r;
}

int client_get_snapshot(struct client *c, uint64_t max_age_ns, uint64_t ended_ns,
			const struct tick *before, bool in_sums, struct tick *ret,
			struct error *err)
{
	const char *sums = in_sums ? "&files=sums" : "";
	bool is_first = before && !before->boot_ns;
	char more[64];
	int r;

	snprintf(more, sizeof(more), "%s%s", sums, is_first ? "&ahead=" AHEAD : "");
	r = get_wire_snapshot(c, max_age_ns, ended_ns, before, more, ret, err);
	if (r == -ESTALE) /* it leaves out what we have not: once more from the beginning */
		r = get_wire_snapshot(c, max_age_ns, ended_ns, NULL, sums, ret, err);
	return r == -ESTALE ? error_prefix(err, -EPROTO, "the agent's answer") : r;
}

static int find_group(struct client *c, const char *start, const char *what,
		      struct client_group *ret, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	_cleanup_free_ char *target = make_target(start, what, "");
	int r = target ? ask(c, target, NULL, CLIENT_ANSWER_MS, &answer, err)
		       : error_set_errno(err, ENOMEM, "cannot ask the agent");

	return r < 0 ? r : client_parse_group(answer.text, answer.length, ret, err);
}

int client_find_process(struct client *c, pid_t pid, struct client_group *ret, struct error *err)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	return find_group(c, "/v1/group?pid=", text, ret, err);
}

int client_find_group(struct client *c, const char *path, struct client_group *ret,
		      struct error *err)
{
	return find_group(c, "/v1/group?path=", path, ret, err);
}

int client_begin_run(struct client *c, pid_t pid, struct client_group *ret, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	char body[32];
	int r;

	snprintf(body, sizeof(body), "{\"pid\": %d}", pid);
	r = ask(c, "/v1/runs", body, CLIENT_ANSWER_MS, &answer, err);
	return r < 0 ? r : client_parse_run(answer.text, answer.length, ret, err);
}

int client_tell_trace(struct client *c, const char *post, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};

	return ask(c, "/v1/traces", post, CLIENT_HELLO_MS, &answer, err);
}

/* "/START/ID[END][?group=GROUP]"; @body: NULL: it is only asked for. */
static int ask_run(struct client *c, const struct client_group *run, const char *start,
		   const char *end, const char *body, struct record **ret, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	_cleanup_free_ char *target = NULL;
	char more[64];
	int r;

	if (run->group_id)
		snprintf(more, sizeof(more), "%s?group=%" PRIu64, end, run->group_id);
	else
		snprintf(more, sizeof(more), "%s", end);
	target = make_target(start, run->id, more);
	r = target ? ask(c, target, body, CLIENT_ANSWER_MS, &answer, err)
		   : error_set_errno(err, ENOMEM, "cannot ask the agent");
	return r < 0 ? r : take_record(c, &answer, ret, err);
}

int client_end_run(struct client *c, const struct client_group *run, struct record **ret,
		   struct error *err)
{
	return ask_run(c, run, "/v1/runs/", "/end", "", ret, err);
}

int client_get_run(struct client *c, const struct client_group *run, struct record **ret,
		   struct error *err)
{
	return ask_run(c, run, "/v1/jobs/run/", "", NULL, ret, err);
}

int client_trace(struct client *c, const char *query, const struct endpoint_taker *taker,
		 struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	_cleanup_free_ char *target = NULL;

	if (asprintf(&target, "/v1/trace?%s", query) < 0) {
		target = NULL;
		return error_set_errno(err, ENOMEM, "cannot ask the agent");
	}
	return endpoint_stream(&c->agent, target, CLIENT_TRACE_MS, taker, &answer, err);
}

int client_end_trace(struct client *c, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	struct endpoint agent = c->agent;

	agent.waiter = NULL; /* the waiter is the caller */
	return endpoint_ask(&agent, "/v1/trace/end", "", CLIENT_ANSWER_MS, &answer, err);
}
