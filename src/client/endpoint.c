/* SPDX-License-Identifier: MIT */
#include "client/endpoint.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/waiter.h"
#include "client/client_json.h"

#define NS_PER_MS UINT64_C(1000000)
#define PIECE_SIZE (64 * 1024)
#define AGAIN_MS 3000 /* for how long who was cut tries again... */
#define AGAIN_FIRST_MS 10
#define LEFT_MS_MAX UINT64_C(1000000)
#define AGAIN_LAST_MS 160 /* ...at intervals that grow up to this */

/* One request and its reply. */
struct connection {
	int fd;
	const struct waiter *waiter; /* runs meanwhile; NULL: none */
	uint64_t until_ns; /* by CLOCK_MONOTONIC */
	bool gave_up; /* the waiter did, or the taker */
	const struct endpoint_taker *taker; /* NULL: all is wanted at the end */
	bool has_begun; /* what is taken */
};

static int connection_open(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(address.sun_path, path, strlen(path)); /* endpoint_init() knows that it fits */
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* Until the socket is ready for @events, as long as there is time. */
static int connection_wait(struct connection *c, short events)
{
	const struct waiter *w = c->waiter;
	struct pollfd fds[] = { { c->fd, events, 0 },
				{ w ? w->fds[0] : -1, POLLIN, 0 },
				{ w ? w->fds[1] : -1, POLLIN, 0 } };

	for (;;) {
		uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
		int left_ms = now_ns < c->until_ns
				      ? (int)MIN((c->until_ns - now_ns) / NS_PER_MS, LEFT_MS_MAX) +
						1
				      : 0,
		    r;

		if (!left_ms)
			return -ETIMEDOUT;
		if (poll(fds, ARRAY_SIZE(fds), w ? MIN(left_ms, w->timeout_ms) : left_ms) < 0 &&
		    errno != EINTR)
			return -errno;
		r = w ? w->run(w->context) : 0;
		c->gave_up = r < 0;
		if (r < 0 || fds[0].revents)
			return r;
	}
}

static int connection_send(struct connection *c, const char *text)
{
	size_t length = strlen(text);

	while (length) {
		ssize_t sent = send(c->fd, text, length, MSG_NOSIGNAL);
		int r = 0;

		if (sent >= 0) {
			text += sent;
			length -= (size_t)sent;
			continue;
		}
		if (errno == EPIPE) /* it may have said why */
			return 0;
		if (errno != EINTR)
			r = errno == EAGAIN ? connection_wait(c, POLLOUT) : -errno;
		if (r < 0)
			return r;
	}
	return 0;
}

/* Pass what has come to the taker. */
static int connection_hand_over(struct connection *c, struct reply *to)
{
	const struct endpoint_taker *taker = c->taker;
	int r = 0;

	if (!taker || to->status != 200 || to->part < REPLY_BODY)
		return 0;
	if (!c->has_begun)
		r = taker->begin(taker->context);
	c->has_begun = true;
	c->until_ns = UINT64_MAX;
	if (r == 0 && to->length)
		r = taker->take(taker->context, to->text, to->length);
	to->length = 0;
	c->gave_up = r < 0;
	return r;
}

static int connection_receive(struct connection *c, struct reply *to)
{
	_cleanup_free_ char *piece = malloc(PIECE_SIZE);
	int r = piece ? 0 : -ENOMEM;

	while (r == 0) {
		ssize_t n = recv(c->fd, piece, PIECE_SIZE, 0);

		if (n > 0) {
			int fed = reply_feed(to, piece, (size_t)n);

			r = connection_hand_over(c, to);
			r = r < 0 ? r : fed;
		} else if (n == 0)
			return reply_end(to);
		else if (errno == EAGAIN)
			r = connection_wait(c, POLLIN);
		else if (errno != EINTR)
			r = -errno;
	}
	return r < 0 ? r : 0;
}

static int connection_run(struct connection *c, const char *path, const char *request,
			  struct reply *ret)
{
	_cleanup_close_ int fd = connection_open(path);
	int r;

	if (fd < 0)
		return fd;
	c->fd = fd;
	r = connection_send(c, request);
	return r < 0 ? r : connection_receive(c, ret);
}

/* ---- one question, in words ---- */

int endpoint_init(const char *who, const char *path, size_t answer_max, struct endpoint *ret,
		  struct error *err)
{
	struct endpoint e = { .who = who, .answer_max = answer_max };

	if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return error_set(err, -ENAMETOOLONG, "'%.40s...' is too long for a socket's path",
				 path);
	e.path = strdup(path);
	if (!e.path)
		return error_set_errno(err, ENOMEM, "cannot ask the %s", who);
	*ret = e;
	return 0;
}

void endpoint_clear(struct endpoint *e)
{
	free(e->path);
	*e = (struct endpoint){};
}

static int say_failure(const struct endpoint *e, int r, const struct reply *reply,
		       struct error *err)
{
	switch (r) {
	case -ENOMEM:
		return error_set_errno(err, ENOMEM, "cannot ask the %s", e->who);
	case -EMSGSIZE:
		return error_set(err, -EPROTO, "the %s's answer is longer than %zu MiB", e->who,
				 e->answer_max >> 20);
	case -EPROTO:
		return error_set(err, -EPROTO, "the %s at '%s': %s", e->who, e->path, reply->why);
	case -ETIMEDOUT:
	case -EAGAIN: /* too many wait already */
		return error_set(err, -ETIMEDOUT, "the %s at '%s' does not answer", e->who,
				 e->path);
	case -ECONNRESET:
		return error_set(err, -ECONNRESET, "the %s at '%s' went away", e->who, e->path);
	default:
		return error_set_errno(err, r, "no %s answers at '%s'", e->who, e->path);
	}
}

/* What it said in words, instead of an answer. */
static int say_refusal(const struct endpoint *e, const struct reply *reply, struct error *err)
{
	_cleanup_free_ char *why = reply->text ? client_parse_error(reply->text, reply->length)
					       : NULL;
	int code = reply->status == 404	  ? -ENOENT
		   : reply->status == 403 ? -EACCES
		   : reply->status == 503 ? -EBUSY
					  : -EPROTO;

	if (why)
		return error_set(err, code, "%s", why);
	return error_set(err, code, "the %s at '%s' answers with status %u", e->who, e->path,
			 reply->status);
}

/* A server with many clients cuts new ones before it reads their request, so a client may try
 * again. If the server is gone, the next try says so. */
static bool was_cut(int r, const struct reply *reply)
{
	return !reply->length && (r == -ECONNRESET || r == -EAGAIN);
}

/* One connection: none is held while the command runs. */
int endpoint_ask(const struct endpoint *e, const char *target, const char *body, int timeout_ms,
		 struct reply *ret, struct error *err)
{
	_cleanup_free_ char *request = NULL;
	struct connection c = { .waiter = e->waiter };
	int wait_ms = AGAIN_FIRST_MS, waited_ms = 0, r;
	char length[64] = "";

	ret->max = e->answer_max;
	if (body)
		snprintf(length, sizeof(length), "Content-Length: %zu\r\n", strlen(body));
	if (asprintf(&request, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n%s",
		     body ? "POST" : "GET", target, length, body ? body : "") < 0) {
		request = NULL;
		return say_failure(e, -ENOMEM, ret, err);
	}
	for (;;) {
		c.until_ns = clock_now_ns(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * NS_PER_MS;
		r = connection_run(&c, e->path, request, ret);
		if (c.gave_up || !was_cut(r, ret) || waited_ms >= AGAIN_MS)
			break;
		c.fd = -1; /* only the waiter may have something to do */
		c.until_ns = clock_now_ns(CLOCK_MONOTONIC) + (uint64_t)wait_ms * NS_PER_MS;
		r = connection_wait(&c, 0);
		if (c.gave_up)
			break;
		waited_ms += wait_ms;
		wait_ms = MIN(wait_ms * 2, AGAIN_LAST_MS);
		reply_clear(ret);
	}
	if (c.gave_up)
		return error_set(err, r, "stopped waiting for the %s at '%s'", e->who, e->path);
	if (r < 0)
		return say_failure(e, r, ret, err);
	return ret->status == 200 ? 0 : say_refusal(e, ret, err);
}

int endpoint_stream(const struct endpoint *e, const char *target, int timeout_ms,
		    const struct endpoint_taker *taker, struct reply *ret, struct error *err)
{
	struct connection c = { .waiter = e->waiter, .taker = taker };
	_cleanup_free_ char *request = NULL;
	int r;

	ret->max = e->answer_max;
	if (asprintf(&request, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
		     target) < 0) {
		request = NULL;
		return say_failure(e, -ENOMEM, ret, err);
	}
	c.until_ns = clock_now_ns(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * NS_PER_MS;
	r = connection_run(&c, e->path, request, ret);
	if (c.gave_up)
		return r; /* who did knows why */
	if (r < 0)
		return say_failure(e, r, ret, err);
	return ret->status == 200 ? 0 : say_refusal(e, ret, err);
}

char *percent_encode(const char *text)
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
