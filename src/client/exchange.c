/* SPDX-License-Identifier: MIT */
#include "client/exchange.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/macro.h"
#include "basic/waiter.h"

#define NS_PER_MS UINT64_C(1000000)
#define PIECE_SIZE (64 * 1024)

struct connection {
	const struct exchange *exchange;
	int fd;
	uint64_t until_ns; /* by CLOCK_MONOTONIC */
	bool *gave_up;
};

static int connection_open(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return TAKE_FD(fd);
}

/* Until the socket is ready for @events, as long as there is time. */
static int connection_wait(const struct connection *c, short events)
{
	const struct waiter *w = c->exchange->waiter;
	struct pollfd fds[] = { { c->fd, events, 0 },
				{ w ? w->fds[0] : -1, POLLIN, 0 },
				{ w ? w->fds[1] : -1, POLLIN, 0 } };

	for (;;) {
		uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
		int left_ms = now_ns < c->until_ns ? (int)((c->until_ns - now_ns) / NS_PER_MS) + 1
						   : 0,
		    r;

		if (!left_ms)
			return -ETIMEDOUT;
		if (poll(fds, ARRAY_SIZE(fds), w ? MIN(left_ms, w->timeout_ms) : left_ms) < 0 &&
		    errno != EINTR)
			return -errno;
		r = w ? w->run(w->context) : 0;
		*c->gave_up = r < 0;
		if (r < 0 || fds[0].revents)
			return r;
	}
}

static int connection_send(const struct connection *c, const char *text)
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

static int connection_receive(const struct connection *c, struct reply *to)
{
	_cleanup_free_ char *piece = malloc(PIECE_SIZE);
	int r = piece ? 0 : -ENOMEM;

	while (r == 0) {
		ssize_t n = recv(c->fd, piece, PIECE_SIZE, 0);

		if (n > 0)
			r = reply_feed(to, piece, (size_t)n);
		else if (n == 0)
			return reply_end(to);
		else if (errno == EAGAIN)
			r = connection_wait(c, POLLIN);
		else if (errno != EINTR)
			r = -errno;
	}
	return r < 0 ? r : 0;
}

static int exchange_talk(const struct connection *c, struct reply *ret)
{
	const struct exchange *e = c->exchange;
	_cleanup_free_ char *request = NULL;
	char length[64] = "";
	int r;

	if (e->body)
		snprintf(length, sizeof(length), "Content-Length: %zu\r\n", strlen(e->body));
	if (asprintf(&request, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s\r\n%s",
		     e->body ? "POST" : "GET", e->target, length, e->body ? e->body : "") < 0) {
		request = NULL;
		return -ENOMEM;
	}
	r = connection_send(c, request);
	return r < 0 ? r : connection_receive(c, ret);
}

int exchange_run(const struct exchange *e, struct reply *ret, bool *ret_gave_up)
{
	_cleanup_close_ int fd = connection_open(e->path);
	const struct connection c = { e, fd,
				      clock_now_ns(CLOCK_MONOTONIC) +
					      (uint64_t)e->timeout_ms * NS_PER_MS,
				      ret_gave_up };

	*ret_gave_up = false;
	return fd < 0 ? fd : exchange_talk(&c, ret);
}
