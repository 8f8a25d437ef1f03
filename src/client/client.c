/* SPDX-License-Identifier: MIT */
#include "client.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "cleanup.h"
#include "client_json.h"
#include "decimal.h"
#include "error.h"
#include "macro.h"
#include "record.h"
#include "records.h"
#include "tick.h"
#include "waiter.h"

#define URL "http://localhost"
#define AHEAD "0.1"   /* seconds: a second reading that is taken sooner behind the first is of no use */
#define AGAIN_MS 3000 /* for how long who was cut tries again... */
#define AGAIN_FIRST_MS 10
#define AGAIN_LAST_MS 160 /* ...at intervals that grow up to this */

struct client {
	CURL *curl;
	CURLM *multi; /* NULL: nobody has something else to do; its descriptors would go to children of ours */
	const struct waiter *waiter;
	char *path;
};

struct client *client_close(struct client *c)
{
	if (!c)
		return NULL;
	if (c->multi)
		curl_multi_cleanup(c->multi);
	if (c->curl)
		curl_easy_cleanup(c->curl);
	free(c->path);
	free(c);
	return NULL;
}

void client_closep(struct client **c)
{
	client_close(*c);
}

struct answer {
	char *text; /* NUL-ended */
	size_t length, room;
	bool is_too_long;
};

static void answer_clear(struct answer *a)
{
	free(a->text);
}

static size_t take_piece(char *piece, size_t one, size_t size, void *data)
{
	struct answer *a = data;

	(void)one;
	if (size > CLIENT_ANSWER_MAX - a->length) {
		a->is_too_long = true;
		return 0;
	}
	if (a->length + size >= a->room) {
		size_t room = MAX(a->room * 2, a->length + size + 4096);
		char *larger = realloc(a->text, room);

		if (!larger)
			return 0;
		a->text = larger;
		a->room = room;
	}
	memcpy(a->text + a->length, piece, size);
	a->length += size;
	a->text[a->length] = '\0';
	return size;
}

static int say_failure(const struct client *c, CURLcode code, const struct answer *a,
		       struct error *err)
{
	long number = 0;

	curl_easy_getinfo(c->curl, CURLINFO_OS_ERRNO, &number);
	if (a->is_too_long)
		return error_set(err, -EPROTO, "the agent's answer is longer than %u MiB",
				 CLIENT_ANSWER_MAX >> 20);
	switch (code) {
	case CURLE_OUT_OF_MEMORY:
		return error_set_errno(err, ENOMEM, "cannot ask the agent");
	case CURLE_COULDNT_CONNECT:
		number = number > 0 ? number : ECONNREFUSED;
		return error_set_errno(err, (int)number, "no agent answers at '%s'", c->path);
	case CURLE_OPERATION_TIMEDOUT:
		return error_set(err, -ETIMEDOUT, "the agent at '%s' does not answer", c->path);
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
	case CURLE_PARTIAL_FILE:
		return error_set(err, -ECONNRESET, "the agent at '%s' went away", c->path);
	default:
		return error_set(err, -EPROTO, "the agent at '%s': %s", c->path,
				 curl_easy_strerror(code));
	}
}

/* What the agent said in words, instead of an answer. */
static int say_refusal(const struct client *c, long status, const struct answer *a,
		       struct error *err)
{
	_cleanup_free_ char *why = a->text ? client_parse_error(a->text, a->length) : NULL;
	int code = status == 404   ? -ENOENT
		   : status == 403 ? -EACCES
		   : status == 503 ? -EBUSY
				   : -EPROTO;

	if (why)
		return error_set(err, code, "%s", why);
	return error_set(err, code, "the agent at '%s' answers with status %ld", c->path, status);
}

/* An agent that has many to serve cuts who comes, before it reads what he wants; so he may ask
 * again. Of one that is gone, the next try tells. */
static bool was_cut(CURLcode code, const struct answer *a)
{
	return !a->length &&
	       (code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR);
}

/* Until something comes for us or the waiter, and no longer than @timeout_ms.  < 0: he has enough. */
static int wait_with(const struct client *c, int timeout_ms)
{
	const struct waiter *w = c->waiter;
	struct curl_waitfd fds[ARRAY_SIZE(w->fds)];
	unsigned int count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(w->fds); i++) {
		if (w->fds[i] >= 0)
			fds[count++] = (struct curl_waitfd){ .fd = w->fds[i], .events = CURL_WAIT_POLLIN };
	}
	(void)curl_multi_poll(c->multi, fds, count, MIN(timeout_ms, w->timeout_ms), NULL);
	return w->run(w->context);
}

static CURLcode result_of(CURLM *multi)
{
	int left;
	const CURLMsg *message = curl_multi_info_read(multi, &left);

	return message && message->msg == CURLMSG_DONE ? message->data.result : CURLE_FAILED_INIT;
}

/* *ret_gave_up: < 0: the waiter waits no longer. */
static CURLcode transfer(const struct client *c, int *ret_gave_up)
{
	CURLcode code = CURLE_OUT_OF_MEMORY;
	int running = 1;

	if (!c->multi)
		return curl_easy_perform(c->curl);
	if (curl_multi_add_handle(c->multi, c->curl) != CURLM_OK)
		return code;
	while (*ret_gave_up == 0 && curl_multi_perform(c->multi, &running) == CURLM_OK && running)
		*ret_gave_up = wait_with(c, c->waiter->timeout_ms);
	code = result_of(c->multi);
	(void)curl_multi_remove_handle(c->multi, c->curl);
	return code;
}

static int pause_ms(const struct client *c, int ms)
{
	if (c->multi)
		return wait_with(c, ms);
	(void)poll(NULL, 0, ms);
	return 0;
}

static CURLcode perform(const struct client *c, const struct answer *a, int *ret_gave_up)
{
	int wait_ms = AGAIN_FIRST_MS, waited_ms = 0;
	CURLcode code;

	while (was_cut(code = transfer(c, ret_gave_up), a) && waited_ms < AGAIN_MS && *ret_gave_up == 0) {
		*ret_gave_up = pause_ms(c, wait_ms);
		waited_ms += wait_ms;
		wait_ms = MIN(wait_ms * 2, AGAIN_LAST_MS);
	}
	return code;
}

/* One request, of one connection: none is held while the command runs.  @body NULL: it is a GET. */
static int ask(struct client *c, const char *url, const char *body, long timeout_ms,
	       struct answer *ret, struct error *err)
{
	CURL *curl = c->curl;
	long status = 0;
	int gave_up = 0;
	CURLcode code;

	curl_easy_reset(curl);
	curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, c->path);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* whatever the environment says */
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_piece);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, ret);
	if (body) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
		curl_easy_setopt(curl, CURLOPT_POST, 1L);
	}
	code = perform(c, ret, &gave_up);
	if (gave_up < 0)
		return error_set(err, gave_up, "nobody waits any longer for the agent at '%s'", c->path);
	if (code != CURLE_OK)
		return say_failure(c, code, ret, err);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	return status == 200 ? 0 : say_refusal(c, status, ret, err);
}

int client_open(const char *socket_path, struct client **ret, struct error *err)
{
	_cleanup_(client_closep) struct client *c = calloc(1, sizeof(*c));
	_cleanup_(answer_clear) struct answer answer = {};
	const char *named = getenv("JOBMETER_SOCKET");
	int r;

	if (!socket_path)
		socket_path = named && *named ? named : CLIENT_SOCKET;
	if (strlen(socket_path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return error_set(err, -ENAMETOOLONG, "'%.40s...' is too long for a socket's path",
				 socket_path);
	(void)curl_global_init(CURL_GLOBAL_NOTHING); /* no TLS on a Unix socket */
	if (c) {
		c->curl = curl_easy_init();
		c->path = strdup(socket_path);
	}
	if (!c || !c->curl || !c->path)
		return error_set_errno(err, ENOMEM, "cannot ask the agent");
	r = ask(c, URL "/health", NULL, CLIENT_HELLO_MS, &answer, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(c);
	return 0;
}

int client_set_waiter(struct client *c, const struct waiter *waiter)
{
	c->multi = c->multi ? c->multi : curl_multi_init();
	if (!c->multi)
		return -ENOMEM;
	c->waiter = waiter;
	return 0;
}

const char *client_socket_path(const struct client *c)
{
	return c->path;
}

int client_get_agent(struct client *c, struct client_agent *ret, struct error *err)
{
	_cleanup_(answer_clear) struct answer answer = {};
	int r = ask(c, URL "/v1/agent", NULL, CLIENT_ANSWER_MS, &answer, err);

	return r < 0 ? r : client_parse_agent(answer.text, answer.length, ret, err);
}

int client_list_jobs(struct client *c, struct client_jobs *ret, struct error *err)
{
	_cleanup_(answer_clear) struct answer answer = {};
	int r = ask(c, URL "/v1/jobs", NULL, CLIENT_ANSWER_MS, &answer, err);

	return r < 0 ? r : client_parse_jobs(answer.text, answer.length, ret, err);
}

static int take_record(const struct client *c, const struct answer *answer, struct record **ret,
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

static char *escape(struct client *c, const char *text)
{
	return curl_easy_escape(c->curl, text, (int)MIN(strlen(text), (size_t)INT32_MAX));
}

/* "URL/START/TEXT[END]", with the text escaped. */
static char *make_url(struct client *c, const char *start, const char *text, const char *end)
{
	char *escaped = escape(c, text), *url;

	if (!escaped || asprintf(&url, URL "%s%s%s", start, escaped, end) < 0)
		url = NULL;
	curl_free(escaped);
	return url;
}

int client_get_record(struct client *c, const char *manager, const char *id, struct record **ret,
		      struct error *err)
{
	_cleanup_(answer_clear) struct answer answer = {};
	char *escaped = escape(c, id);
	_cleanup_free_ char *end = NULL, *url = NULL;
	int r;

	if (!escaped || asprintf(&end, "/%s", escaped) < 0)
		end = NULL;
	curl_free(escaped);
	url = end ? make_url(c, "/v1/jobs/", manager, end) : NULL;
	if (!url)
		return error_set_errno(err, ENOMEM, "cannot ask the agent");
	r = ask(c, url, NULL, CLIENT_ANSWER_MS, &answer, err);
	return r < 0 ? r : take_record(c, &answer, ret, err);
}

int client_get_tick(struct client *c, uint64_t max_age_ns, uint64_t ended_ns, bool is_first, struct tick *ret,
		    struct error *err)
{
	_cleanup_(answer_clear) struct answer answer = {};
	char url[192], age[DECIMAL_SIZE], ended[DECIMAL_SIZE];
	int r;

	snprintf(url, sizeof(url), URL "/v1/tick?max_age=%s&ended=%s%s", decimal_format(age, max_age_ns, 9),
		 decimal_format(ended, ended_ns, 9), is_first ? "&ahead=" AHEAD : "");
	r = ask(c, url, NULL, CLIENT_ANSWER_MS, &answer, err);
	if (r == -ENOENT && answer.text) /* somebody answered */
		return error_set(err, -EPROTO,
				 "the agent at '%s' is older than this program: it knows no ticks", c->path);
	if (r < 0)
		return r;
	r = tick_parse(answer.text ? answer.text : "", answer.length, ret, err);
	return r < 0 ? error_prefix(err, r == -ENOMEM ? r : -EPROTO, "the agent's answer") : 0;
}

static int find_group(struct client *c, const char *start, const char *what,
		      struct client_group *ret, struct error *err)
{
	_cleanup_(answer_clear) struct answer answer = {};
	_cleanup_free_ char *url = make_url(c, start, what, "");
	int r = url ? ask(c, url, NULL, CLIENT_ANSWER_MS, &answer, err)
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
	_cleanup_(answer_clear) struct answer answer = {};
	char body[32];
	int r;

	snprintf(body, sizeof(body), "{\"pid\": %d}", pid);
	r = ask(c, URL "/v1/runs", body, CLIENT_ANSWER_MS, &answer, err);
	return r < 0 ? r : client_parse_group(answer.text, answer.length, ret, err);
}

/* "URL/START/ID[END][?group=GROUP]"; @body: NULL: it is only asked for. */
static int ask_run(struct client *c, const struct client_group *run, const char *start, const char *end,
		   const char *body, struct record **ret, struct error *err)
{
	_cleanup_(answer_clear) struct answer answer = {};
	_cleanup_free_ char *more = NULL, *url = NULL;
	int r;

	if (asprintf(&more, "%s%s%s", end, run->group ? "?group=" : "", run->group ? run->group : "") < 0)
		more = NULL;
	url = more ? make_url(c, start, run->id, more) : NULL;
	r = url ? ask(c, url, body, CLIENT_ANSWER_MS, &answer, err)
		: error_set_errno(err, ENOMEM, "cannot ask the agent");
	return r < 0 ? r : take_record(c, &answer, ret, err);
}

int client_end_run(struct client *c, const struct client_group *run, struct record **ret, struct error *err)
{
	return ask_run(c, run, "/v1/runs/", "/end", "", ret, err);
}

int client_get_run(struct client *c, const struct client_group *run, struct record **ret, struct error *err)
{
	return ask_run(c, run, "/v1/jobs/run/", "", NULL, ret, err);
}
