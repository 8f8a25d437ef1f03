/* SPDX-License-Identifier: MIT */
#include "client/client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "basic/cleanup.h"
#include "client/client_json.h"
#include "basic/decimal.h"
#include "basic/error.h"
#include "client/exchange.h"
#include "basic/macro.h"
#include "model/record.h"
#include "codec/records.h"
#include "codec/wire_snapshot.h"
#include "basic/waiter.h"

#define AHEAD \
	"0.1" /* seconds: a second reading that is taken sooner behind the first is of no use */
#define AGAIN_MS 3000 /* for how long who was cut tries again... */
#define AGAIN_FIRST_MS 10
#define AGAIN_LAST_MS 160 /* ...at intervals that grow up to this */

struct client {
	const struct waiter *waiter; /* NULL: nobody has something else to do */
	char *path;
};

struct client *client_close(struct client *c)
{
	if (!c)
		return NULL;
	free(c->path);
	free(c);
	return NULL;
}

void client_closep(struct client **c)
{
	client_close(*c);
}

static int say_failure(const struct client *c, int r, const struct reply *reply, struct error *err)
{
	switch (r) {
	case -ENOMEM:
		return error_set_errno(err, ENOMEM, "cannot ask the agent");
	case -EMSGSIZE:
		return error_set(err, -EPROTO, "the agent's answer is longer than %u MiB",
				 CLIENT_ANSWER_MAX >> 20);
	case -EPROTO:
		return error_set(err, -EPROTO, "the agent at '%s': %s", c->path, reply->why);
	case -ETIMEDOUT:
	case -EAGAIN: /* too many wait already */
		return error_set(err, -ETIMEDOUT, "the agent at '%s' does not answer", c->path);
	case -ECONNRESET:
		return error_set(err, -ECONNRESET, "the agent at '%s' went away", c->path);
	default:
		return error_set_errno(err, r, "no agent answers at '%s'", c->path);
	}
}

/* What the agent said in words, instead of an answer. */
static int say_refusal(const struct client *c, const struct reply *reply, struct error *err)
{
	_cleanup_free_ char *why = reply->text ? client_parse_error(reply->text, reply->length)
					       : NULL;
	int code = reply->status == 404	  ? -ENOENT
		   : reply->status == 403 ? -EACCES
		   : reply->status == 503 ? -EBUSY
					  : -EPROTO;

	if (why)
		return error_set(err, code, "%s", why);
	return error_set(err, code, "the agent at '%s' answers with status %u", c->path,
			 reply->status);
}

/* An agent that has many to serve cuts who comes, before it reads what he wants; so he may ask
 * again. Of one that is gone, the next try tells. */
static bool was_cut(int r, const struct reply *reply)
{
	return !reply->length && (r == -ECONNRESET || r == -EAGAIN);
}

static int pause_ms(const struct waiter *w, int ms)
{
	struct pollfd fds[] = { { w ? w->fds[0] : -1, POLLIN, 0 },
				{ w ? w->fds[1] : -1, POLLIN, 0 } };

	(void)poll(fds, ARRAY_SIZE(fds), w ? MIN(ms, w->timeout_ms) : ms);
	return w ? w->run(w->context) : 0;
}

static int perform(const struct exchange *e, struct reply *ret, bool *ret_gave_up)
{
	int wait_ms = AGAIN_FIRST_MS, waited_ms = 0, r;

	while (was_cut(r = exchange_run(e, ret, ret_gave_up), ret) && waited_ms < AGAIN_MS) {
		int gave_up = pause_ms(e->waiter, wait_ms);

		*ret_gave_up = gave_up < 0;
		if (gave_up < 0)
			return gave_up;
		waited_ms += wait_ms;
		wait_ms = MIN(wait_ms * 2, AGAIN_LAST_MS);
		reply_clear(ret);
	}
	return r;
}

/* One request, of one connection: none is held while the command runs.  @body NULL: it is a GET. */
static int ask(const struct client *c, const char *target, const char *body, int timeout_ms,
	       struct reply *ret, struct error *err)
{
	const struct exchange exchange = { .path = c->path,
					   .target = target,
					   .body = body,
					   .timeout_ms = timeout_ms,
					   .waiter = c->waiter };
	bool gave_up;
	int r;

	ret->max = CLIENT_ANSWER_MAX;
	r = perform(&exchange, ret, &gave_up);
	if (gave_up)
		return error_set(err, r, "stopped waiting for the agent at '%s'", c->path);
	if (r < 0)
		return say_failure(c, r, ret, err);
	return ret->status == 200 ? 0 : say_refusal(c, ret, err);
}

int client_open(const char *socket_path, struct client **ret, struct error *err)
{
	_cleanup_(client_closep) struct client *c = calloc(1, sizeof(*c));
	_cleanup_(reply_clear) struct reply reply = {};
	const char *named = getenv("JOBMETER_SOCKET");
	int r;

	if (!socket_path)
		socket_path = named && *named ? named : CLIENT_SOCKET;
	if (strlen(socket_path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return error_set(err, -ENAMETOOLONG, "'%.40s...' is too long for a socket's path",
				 socket_path);
	if (c)
		c->path = strdup(socket_path);
	if (!c || !c->path)
		return error_set_errno(err, ENOMEM, "cannot ask the agent");
	r = ask(c, "/health", NULL, CLIENT_HELLO_MS, &reply, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

void client_set_waiter(struct client *c, const struct waiter *waiter)
{
	c->waiter = waiter;
}

const char *client_socket_path(const struct client *c)
{
	return c->path;
}

int client_get_agent(struct client *c, struct client_agent *ret, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	int r = ask(c, "/v1/agent", NULL, CLIENT_ANSWER_MS, &answer, err);

	return r < 0 ? r : client_parse_agent(answer.text, answer.length, ret, err);
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
	int r = records_parse(answer->text ? answer->text : "", answer->length, c->path, &records,
			      err);

	if (r < 0)
		return error_prefix(err, r == -ENOMEM ? r : -EPROTO, "the agent's answer");
	if (records.count != 1)
		return error_set(err, -EPROTO, "the agent's answer is not one record");
	*ret = TAKE_PTR(records.items[0]);
	return 0;
}

/* For a path or a query; the caller frees. */
static char *percent_encode(const char *text)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
	char *encoded = malloc(strlen(text) * 3 + 1), *to = encoded;

	for (; encoded && *text; text++)
		to += sprintf(to, strchr(plain, *text) ? "%c" : "%%%02X", (unsigned char)*text);
	if (encoded)
		*to = '\0';
	return encoded;
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
			     const struct tick *before, bool is_first, struct tick *ret,
			     struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	char target[256], age[DECIMAL_SIZE], ended[DECIMAL_SIZE], since[DECIMAL_SIZE];
	int r;

	snprintf(target, sizeof(target), "/v1/snapshot?max_age=%s&ended=%s&since=%s%s",
		 decimal_format(age, max_age_ns, 9), decimal_format(ended, ended_ns, 9),
		 decimal_format(since, before ? before->boot_ns : 0, 9),
		 is_first ? "&ahead=" AHEAD : "");
	r = ask(c, target, NULL, CLIENT_ANSWER_MS, &answer, err);
	if (r == -ENOENT && answer.text) /* somebody answered */
		return error_set(err, -EPROTO,
				 "the agent at '%s' is older than this program: it knows no ticks",
				 c->path);
	if (r < 0)
		return r;
	r = wire_snapshot_parse(answer.text ? answer.text : "", answer.length, before, ret, err);
	return r < 0 && r != -ESTALE
		       ? error_prefix(err, r == -ENOMEM ? r : -EPROTO, "the agent's answer")
		       : r;
}

int client_get_snapshot(struct client *c, uint64_t max_age_ns, uint64_t ended_ns,
			const struct tick *before, struct tick *ret, struct error *err)
{
	int r = get_wire_snapshot(c, max_age_ns, ended_ns, before, before && !before->boot_ns, ret,
				  err);

	if (r == -ESTALE) /* it leaves out what we have not: once more from the beginning */
		r = get_wire_snapshot(c, max_age_ns, ended_ns, NULL, false, ret, err);
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
	return r < 0 ? r : client_parse_group(answer.text, answer.length, ret, err);
}

/* "/START/ID[END][?group=GROUP]"; @body: NULL: it is only asked for. */
static int ask_run(struct client *c, const struct client_group *run, const char *start,
		   const char *end, const char *body, struct record **ret, struct error *err)
{
	_cleanup_(reply_clear) struct reply answer = {};
	_cleanup_free_ char *more = NULL, *target = NULL;
	int r;

	if (asprintf(&more, "%s%s%s", end, run->group ? "?group=" : "",
		     run->group ? run->group : "") < 0)
		more = NULL;
	target = more ? make_target(start, run->id, more) : NULL;
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
