/* SPDX-License-Identifier: MIT */
#include "http/answer.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>

#include "http/accept.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "basic/utf8.h"

#define HEAD_MAX_BYTES 8192
#define BODY_MAX_BYTES 65536 /* where the route takes no more */
#define READ_AND_DROPPED 4 /* times what a route takes that is larger */
#define LARGE_MAX_BYTES (64 << 20) /* of all larger bodies together */
#define RETRY_AFTER_S 5
#define PIECE_BYTES 32768
#define SMALL_BYTES 1024 /* not worth compressing */
#define STATUS_TOO_LARGE 413 /* its name in the library has changed */

#define TYPE_JSON "application/json"
#define TYPE_TEXT "text/plain; charset=utf-8"

uint64_t answer_now_ms(void)
{
	return clock_now_ns(CLOCK_MONOTONIC) / 1000000;
}

static uint64_t cost_ns(const struct http *h)
{
	return clock_now_ns(h->options.charges_elapsed ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID);
}

const char *http_query(const struct http_request *request, const char *key)
{
	return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, key);
}

const char *http_header(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *http_cookie(const struct http_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_COOKIE_KIND, name);
}

struct count {
	const char *name;
	size_t count;
};

static enum MHD_Result count_name(void *context, enum MHD_ValueKind kind UNUSED, const char *name,
				  const char *value UNUSED)
{
	struct count *c = context;

	c->count += strcasecmp(name, c->name) == 0;
	return MHD_YES;
}

bool http_has_several(const struct http_request *request, const char *header)
{
	struct count c = { header, 0 };

	MHD_get_connection_values(request->connection, MHD_HEADER_KIND, count_name, &c);
	return c.count > 1;
}

struct each_query {
	int (*take)(void *context, const char *key, const char *value);
	void *context;
	int r;
};

static enum MHD_Result take_query(void *context, enum MHD_ValueKind kind UNUSED, const char *key,
				  const char *value)
{
	struct each_query *each = context;

	each->r = each->take(each->context, key, value ? value : "");
	return each->r == 0 ? MHD_YES : MHD_NO;
}

int http_each_query(const struct http_request *request,
		    int (*take)(void *context, const char *key, const char *value), void *context)
{
	struct each_query each = { take, context, 0 };

	MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, take_query, &each);
	return each.r;
}

/* ---- failures ---- */

void http_answer_clear(struct http_answer *a)
{
	if (a->done)
		a->done(a->context);
	free(a->text);
	free(a->next_page);
	free(a->tag);
	free(a->location);
	free(a->cookie);
	*a = (struct http_answer){ .type = a->type };
}

/* @text as the content of a JSON string. */
static void put_escaped(FILE *out, const char *text)
{
	char bytes[UTF8_MAX];
	uint32_t c;

	while ((c = utf8_next(&text)) != 0) {
		if (c == '"' || c == '\\')
			fputc('\\', out);
		if (c < 0x20 || c == 0x7f)
			fprintf(out, "\\u%04x", (unsigned int)c);
		else
			fwrite(bytes, 1, utf8_encode(c, bytes), out);
	}
}

static int format_failure(const char *message, bool is_text, struct http_answer *ret)
{
	_cleanup_fclose_ FILE *out = open_memstream(&ret->text, &ret->length);

	if (!out)
		return -ENOMEM;
	if (!is_text)
		fputs("{\"error\": \"", out);
	if (is_text)
		fputs(message, out);
	else
		put_escaped(out, message);
	fputs(is_text ? "\n" : "\"}\n", out);
	return 0;
}

int http_fail(struct http_answer *ret, unsigned int status, const char *format, ...)
{
	bool is_text = ret->type && strncmp(ret->type, "text/plain", strlen("text/plain")) == 0;
	char message[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	http_answer_clear(ret);
	ret->status = status;
	ret->type = is_text ? TYPE_TEXT : TYPE_JSON;
	return format_failure(message, is_text, ret);
}

/* ---- may it? ---- */

/* In constant time, so that it does not reveal where @given differs. */
static bool is_same_secret(const char *given, const char *secret)
{
	size_t given_length = strlen(given), length = strlen(secret);
	volatile unsigned char difference = given_length != length;

	for (size_t i = 0; i < length; i++)
		difference |= (unsigned char)(secret[i] ^
					      given[given_length ? i % given_length : 0]);
	return difference == 0;
}

static bool brings_token(const struct exchange *x)
{
	const char *header = http_header(&x->request, MHD_HTTP_HEADER_AUTHORIZATION);

	if (!x->http->token || !header || strncasecmp(header, "Bearer ", strlen("Bearer ")) != 0)
		return false;
	header += strlen("Bearer ");
	return is_same_secret(header + strspn(header, " "), x->http->token);
}

static void admit(struct exchange *x)
{
	const struct http_options *options = &x->http->options;
	const char *header = http_header(&x->request, MHD_HTTP_HEADER_AUTHORIZATION);

	if (x->route && x->route->identify) {
		x->refusal = x->route->identify(options->context, &x->request, &x->refused);
		x->is_admitted = x->refusal >= 0;
		return;
	}
	x->is_admitted = (!x->http->token && !options->admit) || brings_token(x);
	if (x->is_admitted || !options->admit || !header || (x->route && x->route->is_open))
		return;
	x->refusal = options->admit(options->context, header, &x->request.caller, &x->refused);
	x->is_admitted = x->refusal >= 0;
}

/* ---- budgets ---- */

#define NO_USER (UINT32_MAX - 1) /* without a budget */
#define STRANGER UINT32_MAX /* over TCP, and without the token: all of them have one budget */

/* Root has none, nor who brings the token, nor anybody where the site wants none; of a route that
 * identifies, those without a user have none. */
static bool has_budget(const struct exchange *x, uint32_t *ret_user)
{
	if (x->route && x->route->is_free)
		return false;
	if (x->request.peer.is_known) {
		*ret_user = x->request.peer.uid;
		return x->request.peer.uid != 0;
	}
	if (x->request.has_user) {
		*ret_user = x->request.user;
		return true;
	}
	*ret_user = STRANGER;
	return !x->is_admitted || (x->route && x->route->identify && !x->request.caller);
}

/* Of one that waits. */
static uint32_t user_of(const struct connection *c)
{
	uint32_t user = STRANGER;

	(void)has_budget(c->waiter, &user);
	return user;
}

void http_charge_sender(const struct http_request *request, uint64_t cost_ns)
{
	const struct exchange *x =
		(const void *)((const char *)request - offsetof(struct exchange, request));
	uint32_t user;

	if (has_budget(x, &user))
		budgets_charge(&x->http->budgets, user, cost_ns, answer_now_ms());
}

void http_charge(struct http *h, uid_t uid, uint64_t cost_ns)
{
	if (uid != 0)
		budgets_charge(&h->budgets, uid, cost_ns, answer_now_ms());
}

static size_t count_waiting(const struct http *h, uint32_t user)
{
	size_t count = 0;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		const struct connection *c = &h->connections.items[i];

		count += c->state == CONNECTION_WAITING && user_of(c) == user;
	}
	return count;
}

/* Whether threads answer as many requests of that user as they may at a time. */
static bool keeps_threads_busy(const struct http *h, uint32_t user)
{
	size_t count = 0;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		const struct connection *c = &h->connections.items[i];

		count += c->state == CONNECTION_AWAITING && c->awaits_thread && c->user == user;
	}
	return count >= HTTP_OF_THREAD_MAX;
}

/* One at a time, the first comes first. */
static bool is_first(const struct http *h, const struct connection *c)
{
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		const struct connection *other = &h->connections.items[i];

		if (other->state == CONNECTION_WAITING && user_of(other) == user_of(c) &&
		    (other->since_ms < c->since_ms ||
		     (other->since_ms == c->since_ms && other < c)))
			return false;
	}
	return true;
}

/* ---- streaming answers ---- */

static bool has_more(const struct connection *c)
{
	struct pollfd p[] = { { c->awaited_fd, POLLIN, 0 }, { c->fd, 0, 0 } };

	return poll(p, c->awaits_thread ? 1 : ARRAY_SIZE(p), 0) > 0;
}

/* Of one that sleeps the library does not see it. */
static bool has_gone(const struct connection *c)
{
	struct pollfd p = { c->fd, 0, 0 };

	return poll(&p, 1, 0) > 0;
}

/* Until there is more behind @a->fd, or the client goes. */
static int await(struct http *h, struct MHD_Connection *mhd, struct connection *c,
		 const struct http_answer *a, uint32_t user)
{
	connections_set(c, CONNECTION_AWAITING, answer_now_ms());
	if (c->state != CONNECTION_AWAITING) /* it was cut just now */
		return -EPIPE;
	c->waiter = mhd;
	c->awaited_fd = a->fd;
	c->awaits_thread = a->is_of_thread;
	c->user = user;
	(void)epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, a->fd,
			&(struct epoll_event){ .events = EPOLLIN });
	if (!a->is_of_thread)
		(void)epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, c->fd, &(struct epoll_event){});
	MHD_suspend_connection(mhd);
	return 0;
}

static void go_on(struct http *h, struct connection *c, uint64_t now_ms)
{
	(void)epoll_ctl(h->epoll_fd, EPOLL_CTL_DEL, c->awaited_fd, NULL);
	if (!c->awaits_thread)
		(void)epoll_ctl(h->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
	connections_set(c, CONNECTION_ANSWERING, now_ms);
	MHD_resume_connection(c->waiter);
}

void answer_call_waiting(struct http *h, bool is_end)
{
	struct connection *called[CONNECTIONS_MAX];
	uint64_t now_ms = answer_now_ms();
	size_t count = 0;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &h->connections.items[i];

		if (c->state == CONNECTION_AWAITING && (is_end || has_more(c)))
			go_on(h, c, now_ms);
		if (c->state != CONNECTION_WAITING)
			continue;
		if (is_end || (is_first(h, c) && !keeps_threads_busy(h, user_of(c)) &&
			       budgets_wait_ms(&h->budgets, user_of(c), now_ms) == 0))
			called[count++] = c;
	}
	/* one of each user: what it costs is known before the next one is called */
	for (size_t i = 0; i < count; i++) {
		struct exchange *x = called[i]->waiter;

		x->is_called = true;
		connections_set(called[i], CONNECTION_ANSWERING, now_ms);
		MHD_resume_connection(x->mhd);
	}
}

int answer_timeout_ms(struct http *h)
{
	uint64_t now_ms = answer_now_ms();
	int timeout = -1;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		const struct connection *c = &h->connections.items[i];
		int wait_ms = c->state == CONNECTION_WAITING && !keeps_threads_busy(h, user_of(c))
				      ? (int)budgets_wait_ms(&h->budgets, user_of(c), now_ms)
				      : -1;

		if (wait_ms >= 0 && (timeout < 0 || wait_ms < timeout))
			timeout = wait_ms;
	}
	return timeout;
}

/* ---- routes ---- */

static bool is_path(const struct http_route *route, const char *path)
{
	size_t length = strlen(route->path);

	if (length > 1 && route->path[length - 1] == '/')
		return strncmp(route->path, path, length) == 0;
	return strcmp(route->path, path) == 0;
}

static bool is_method(const struct http_route *route, const char *method)
{
	/* HTTP wants HEAD wherever there is GET; the body is left out on the way */
	return strcmp(route->method, strcmp(method, "HEAD") == 0 ? "GET" : method) == 0;
}

/* The route of the path, and of the method where there is one. */
static const struct http_route *find_route(const struct http_route *routes, const char *method,
					   const char *path)
{
	const struct http_route *other = NULL;

	for (const struct http_route *route = routes; route->path; route++) {
		if (!is_path(route, path))
			continue;
		if (is_method(route, method))
			return route;
		other = other ? other : route;
	}
	return other;
}

/* ---- the way back ---- */

static struct connection *connection_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

struct stream {
	struct http_answer answer;
	struct http *http;
	struct MHD_Connection *mhd;
	struct connection *connection;
	bool has_budget;
	uint32_t user;
};

static ssize_t give_piece(void *context, uint64_t position, char *buffer, size_t size)
{
	struct stream *s = context;
	uint64_t begun_ns = cost_ns(s->http);
	ssize_t n = s->answer.fd && !s->answer.is_of_thread && has_gone(s->connection)
			    ? -EPIPE
			    : s->answer.next(s->answer.context, buffer, size);

	(void)position;
	if (s->has_budget)
		budgets_charge(&s->http->budgets, s->user, cost_ns(s->http) - begun_ns,
			       answer_now_ms());
	if (s->answer.fd && n == -EAGAIN && !s->http->is_ending &&
	    await(s->http, s->mhd, s->connection, &s->answer, s->user) == 0)
		return 0;
	if (s->answer.fd && n > 0) /* it may last long: only silence is limited */
		connections_set(s->connection, CONNECTION_ANSWERING, answer_now_ms());
	return n > 0	? n
	       : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM
			: MHD_CONTENT_READER_END_WITH_ERROR;
}

static void free_stream(void *context)
{
	struct stream *s = context;

	http_answer_clear(&s->answer);
	free(s);
}

static struct MHD_Response *make_response(struct exchange *x, struct http_answer *a)
{
	struct MHD_Response *response;
	struct stream *kept;

	if (!a->next) {
		response = MHD_create_response_from_buffer(a->length, a->text,
							   MHD_RESPMEM_MUST_FREE);
		if (response)
			a->text = NULL;
		return response;
	}
	kept = malloc(sizeof(*kept));
	if (!kept)
		return NULL;
	*kept = (struct stream){
		.answer = *a, .http = x->http, .mhd = x->mhd, .connection = connection_of(x->mhd)
	};
	kept->has_budget = has_budget(x, &kept->user);
	kept->user = kept->has_budget ? kept->user : NO_USER;
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE_BYTES, give_piece,
						     kept, free_stream);
	if (!response) {
		free(kept);
		return NULL;
	}
	/* the body goes with the stream, the headers are still to be sent */
	kept->answer.next_page = kept->answer.location = kept->answer.cookie = NULL;
	kept->answer.tag = NULL;
	a->text = NULL;
	a->done = NULL;
	return response;
}

static bool wants_gzip(const struct exchange *x, const struct http_answer *a)
{
	return (!a->fd || a->is_of_thread) && (a->next || a->length >= SMALL_BYTES) &&
	       accept_coding(http_header(&x->request, MHD_HTTP_HEADER_ACCEPT_ENCODING), "gzip");
}

static void add_headers(const struct exchange *x, const struct http_answer *a, bool is_gzip,
			struct MHD_Response *response)
{
	char seconds[16];
	const struct {
		const char *name, *value; /* NULL: it is not sent */
	} headers[] = {
		{ MHD_HTTP_HEADER_CONTENT_TYPE, a->type ? a->type : TYPE_JSON },
		{ MHD_HTTP_HEADER_CACHE_CONTROL,
		  a->is_lasting ? "private, max-age=31536000, immutable" : "no-store" },
		{ MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding" },
		{ "X-Content-Type-Options", "nosniff" },
		/* without one the browser does not send the origin of a form */
		{ "Referrer-Policy", a->policy ? "same-origin" : "no-referrer" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Content-Security-Policy",
		  a->policy ? a->policy
			    : "default-src 'none'; style-src 'unsafe-inline'; "
			      "img-src data:; frame-ancestors 'none'" },
		{ MHD_HTTP_HEADER_CONTENT_ENCODING, is_gzip ? "gzip" : NULL },
		{ "X-Next-Page", a->next_page },
		{ MHD_HTTP_HEADER_LOCATION, a->location },
		{ MHD_HTTP_HEADER_ETAG, a->tag },
		{ MHD_HTTP_HEADER_SET_COOKIE, a->cookie },
		{ MHD_HTTP_HEADER_RETRY_AFTER, a->retry_after_s ? seconds : NULL },
		{ MHD_HTTP_HEADER_WWW_AUTHENTICATE,
		  a->status == MHD_HTTP_UNAUTHORIZED ? "Bearer realm=\"jobmeter\"" : NULL },
		{ MHD_HTTP_HEADER_ALLOW,
		  a->status != MHD_HTTP_METHOD_NOT_ALLOWED || !x->route ? NULL
		  : strcmp(x->route->method, "GET") == 0		? "GET, HEAD"
									: x->route->method },
	};

	snprintf(seconds, sizeof(seconds), "%u", a->retry_after_s);
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		if (headers[i].value)
			MHD_add_response_header(response, headers[i].name, headers[i].value);
	}
}

/* Send it; MHD_NO makes libmicrohttpd cut the connection.  What @a held is given back in any case.
 */
static enum MHD_Result send_answer(struct exchange *x, struct http_answer *a)
{
	bool is_gzip = wants_gzip(x, a) && gzip_answer(a) == 0, is_streamed = a->next;
	struct MHD_Response *response = make_response(x, a);
	enum MHD_Result result = MHD_NO;

	if (response) {
		add_headers(x, a, is_gzip, response);
		/* 0.9.75 ends the body of an answer to HEAD that has none, where that is in chunks
		 */
		if (strcmp(x->request.method, "HEAD") == 0 && is_streamed)
			MHD_set_response_options(response, MHD_RF_HTTP_VERSION_1_0_ONLY,
						 MHD_RO_END);
		result = MHD_queue_response(x->mhd, a->status, response);
		MHD_destroy_response(response);
	}
	if (result == MHD_YES && x->http->options.answered)
		x->http->options.answered(x->http->options.context, x->route, a->status);
	http_answer_clear(a);
	return result;
}

/* ---- requests ---- */

static size_t head_bytes(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	return info ? info->header_size : 0;
}

static size_t body_max(const struct exchange *x)
{
	return x->route && x->route->body_max ? x->route->body_max : BODY_MAX_BYTES;
}

static bool announces_more_than(const struct exchange *x, size_t max)
{
	const char *length = http_header(&x->request, MHD_HTTP_HEADER_CONTENT_LENGTH);
	uint64_t bytes = 0;

	return length && (parse_u64(length, &bytes) < 0 || bytes > max);
}

/* An answer in the middle of a body ends the connection, and the kernel's reset may reach the
 * client before the answer does.  So a body that is somewhat too large is read, and dropped. */
static bool is_read_and_dropped(const struct exchange *x)
{
	return x->is_admitted && x->route && x->route->body_max &&
	       is_method(x->route, x->request.method) &&
	       announces_more_than(x, x->route->body_max) &&
	       !announces_more_than(x, READ_AND_DROPPED * x->route->body_max);
}

/* What can be said no to before the body comes; 0: it may come. */
static int refuse(struct exchange *x, struct http_answer *ret)
{
	const struct http_request *request = &x->request;

	if (head_bytes(x->mhd) > HEAD_MAX_BYTES)
		return http_fail(ret, MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE,
				 "the head of the request is larger than %d bytes", HEAD_MAX_BYTES);
	if (x->refusal < 0)
		return http_fail(ret,
				 x->refusal == -EPERM	 ? MHD_HTTP_UNAUTHORIZED
				 : x->refusal == -EACCES ? MHD_HTTP_FORBIDDEN
							 : MHD_HTTP_SERVICE_UNAVAILABLE,
				 "%s", x->refused.text);
	if (!x->is_admitted && !(x->route && x->route->is_open))
		return http_fail(ret, MHD_HTTP_UNAUTHORIZED,
				 x->http->token ? "this needs the bearer token"
						: "this needs a credential");
	if (!x->route)
		return http_fail(ret, MHD_HTTP_NOT_FOUND, "there is nothing at this path");
	if (!is_method(x->route, request->method))
		return http_fail(ret, MHD_HTTP_METHOD_NOT_ALLOWED, "this path takes %s only",
				 x->route->method);
	if (announces_more_than(x, body_max(x)) || x->is_too_large)
		return http_fail(ret, STATUS_TOO_LARGE, "the body is larger than %zu bytes",
				 body_max(x));
	if (x->has_no_room) {
		int r = http_fail(ret, MHD_HTTP_SERVICE_UNAVAILABLE,
				  "too many large requests come at once");

		ret->retry_after_s = RETRY_AFTER_S;
		return r;
	}
	return 0;
}

static struct http_answer empty_answer(const struct exchange *x)
{
	return (struct http_answer){ .status = MHD_HTTP_OK,
				     .type = x->route && x->route->gives_text ? TYPE_TEXT
									      : TYPE_JSON };
}

/* The head is there. */
static enum MHD_Result begin_exchange(struct http *h, struct MHD_Connection *mhd, const char *path,
				      const char *method, void **state)
{
	const struct connection *connection = connection_of(mhd);
	struct exchange *x = calloc(1, sizeof(*x));
	struct http_answer answer;

	if (!x || !connection) {
		free(x);
		return MHD_NO;
	}
	*state = x; /* freed as the exchange ends, in any way */
	x->http = h;
	x->mhd = mhd;
	x->request = (struct http_request){ .method = method,
					    .path = path,
					    .connection = mhd,
					    .begun_ns = clock_now_ns(CLOCK_REALTIME) };
	x->request.peer = (struct http_peer){ .uid = (uid_t)-1, .gid = (gid_t)-1 };
	if (connection->peer)
		x->request.peer = *connection->peer;
	x->route = find_route(h->options.routes, method, path);
	admit(x);
	answer = empty_answer(x);
	if (!http_header(&x->request, MHD_HTTP_HEADER_CONTENT_LENGTH) &&
	    !http_header(&x->request, MHD_HTTP_HEADER_TRANSFER_ENCODING))
		return MHD_YES; /* an answer this early would end the connection */
	x->is_too_large = is_read_and_dropped(x);
	if (x->is_too_large)
		return MHD_YES;
	if (refuse(x, &answer) < 0)
		return MHD_NO;
	return answer.text ? send_answer(x, &answer) : MHD_YES;
}

/* For its user's budget. */
static enum MHD_Result wait_for_turn(struct exchange *x, uint32_t user)
{
	struct connection *connection = connection_of(x->mhd);

	if (!connection ||
	    (user == STRANGER && count_waiting(x->http, user) >= CONNECTIONS_WAITING))
		return MHD_NO;
	connections_set(connection, CONNECTION_WAITING, answer_now_ms());
	if (connection->state != CONNECTION_WAITING) /* it was cut just now */
		return MHD_NO;
	connection->waiter = x;
	MHD_suspend_connection(x->mhd);
	return MHD_YES;
}

/* What counts of a body for all of them together. */
static size_t large_bytes(size_t length)
{
	return length > BODY_MAX_BYTES ? length : 0;
}

static void drop_body(struct exchange *x)
{
	x->http->large_bytes -= large_bytes(x->request.body_length);
	x->request.body_length = 0;
	free(x->body);
	x->body = NULL;
}

static void take_body(struct exchange *x, const char *data, size_t size)
{
	size_t length = x->request.body_length + size, large = large_bytes(length);
	char *larger = NULL;

	if (x->is_too_large || x->has_no_room)
		return;
	large -= large_bytes(x->request.body_length);
	x->has_no_room = large > LARGE_MAX_BYTES - x->http->large_bytes;
	x->is_too_large = length > body_max(x);
	if (!x->is_too_large && !x->has_no_room)
		larger = realloc(x->body, length + 1);
	if (!larger) {
		x->is_too_large |= !x->has_no_room;
		drop_body(x);
		return;
	}
	x->body = larger;
	memcpy(x->body + x->request.body_length, data, size);
	x->request.body_length = length;
	x->body[length] = '\0';
	x->http->large_bytes += large;
}

static int ask_route(struct exchange *x, struct http_answer *ret)
{
	int r = refuse(x, ret);

	if (r < 0 || ret->text)
		return r;
	r = x->route->thread
		    ? x->http->options.defer(x->http->options.context, x->route, &x->request, ret)
		    : x->route->answer(x->http->options.context, &x->request, ret);
	return r < 0 ? http_fail(ret, MHD_HTTP_INTERNAL_SERVER_ERROR, "this went wrong inside") : 0;
}

/* For a route that streams, this is called until the answer is there. */
static enum MHD_Result answer_exchange(struct exchange *x)
{
	struct connection *connection = connection_of(x->mhd);
	struct http_answer answer = x->begun.begin ? x->begun : empty_answer(x);
	uint32_t user;
	int r = 0;

	x->begun = (struct http_answer){};
	connections_set(connection, CONNECTION_ANSWERING, answer_now_ms());
	x->request.body = x->body ? x->body : "";
	if (!answer.begin)
		r = ask_route(x, &answer);
	if (r == 0 && answer.begin)
		r = connection && (answer.is_of_thread || !has_gone(connection))
			    ? answer.begin(answer.context, &answer)
			    : -EPIPE;
	if (r == -EAGAIN && answer.begin && !x->http->is_ending) {
		x->begun = answer;
		if (!has_budget(x, &user))
			user = NO_USER;
		return await(x->http, x->mhd, connection, &answer, user) < 0 ? MHD_NO : MHD_YES;
	}
	if (r < 0)
		http_answer_clear(&answer);
	return r < 0 ? MHD_NO : send_answer(x, &answer);
}

static enum MHD_Result end_exchange(struct exchange *x)
{
	struct http *h = x->http;
	uint64_t begun_ns;
	uint32_t user;
	enum MHD_Result result;

	if (!has_budget(x, &user) || x->begun.begin)
		return answer_exchange(x);
	if (!x->is_called && (count_waiting(h, user) || keeps_threads_busy(h, user) ||
			      budgets_wait_ms(&h->budgets, user, answer_now_ms())))
		return wait_for_turn(x, user);
	begun_ns = cost_ns(h);
	result = answer_exchange(x);
	budgets_charge(&h->budgets, user, BUDGETS_REQUEST_NS + cost_ns(h) - begun_ns,
		       answer_now_ms());
	return result;
}

enum MHD_Result answer_request(void *context, struct MHD_Connection *mhd, const char *path,
			       const char *method, const char *version, const char *data,
			       size_t *data_size, void **state)
{
	struct exchange *x = *state;

	(void)version;
	if (!x)
		return begin_exchange(context, mhd, path, method, state);
	if (*data_size == 0)
		return end_exchange(x);
	take_body(x, data, *data_size);
	*data_size = 0;
	return MHD_YES;
}

struct exchange *exchange_free(struct exchange *x)
{
	if (x) {
		http_answer_clear(&x->begun);
		drop_body(x);
		free(x->request.caller);
	}
	free(x);
	return NULL;
}
