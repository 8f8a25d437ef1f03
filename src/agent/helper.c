/* SPDX-License-Identifier: MIT */
#include "agent/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "cgroup/hierarchy.h"
#include "http/listener.h"
#include "service/privileges.h"
#include "basic/macro.h"

#define HELLO_MS 10000
#define MAKE_MS 1000

struct helper {
	int fd;
	pid_t pid;
	uint32_t sequence; /* of the last request */
	uint32_t key; /* as in struct helper_request */
};

/* ---- requests to it ---- */

static int request(struct helper *h, struct helper_request *request, struct error *err)
{
	request->magic = HELPER_MAGIC;
	request->version = HELPER_VERSION;
	request->sequence = ++h->sequence ? h->sequence : ++h->sequence;
	if (send(h->fd, request, sizeof(*request), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return error_set_errno(err, errno == ECONNRESET ? EPIPE : errno,
				       "cannot ask the root helper");
	return 0;
}

/* ---- the start ---- */

/* The agent holds its lock until we are gone, so no other one has begun to listen. */
static void remove_leftovers(const struct helper_leftovers *leftovers)
{
	struct error err = {};

	if (leftovers->dir)
		(void)rmdir(leftovers->dir);
	if (leftovers->socket)
		(void)listener_remove_stale(leftovers->socket, &err);
}

static _Noreturn void be_helper(int fd, int root_fd, const struct helper_leftovers *leftovers)
{
	privileges_close_others(fd, root_fd);
	if (helper_serve(fd, root_fd) && leftovers)
		remove_leftovers(leftovers);
	_exit(0);
}

static int64_t now_ms(void)
{
	return (int64_t)(clock_now_ns(CLOCK_MONOTONIC) / 1000000);
}

/* 0: *ret is a reply; -EAGAIN: there is none; -EPIPE: there will be none. */
static int receive(const struct helper *h, struct helper_reply *ret)
{
	ssize_t n = recv(h->fd, ret, sizeof(*ret), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (n != (ssize_t)sizeof(*ret) || ret->magic != HELPER_MAGIC ||
	    ret->version != HELPER_VERSION)
		return -EPIPE;
	ret->text[sizeof(ret->text) - 1] = '\0';
	return 0;
}

static int wait_until(const struct helper *h, int64_t end_ms)
{
	struct pollfd p = { .fd = h->fd, .events = POLLIN };
	int64_t left = end_ms - now_ms();

	if (left <= 0)
		return -ETIMEDOUT;
	return poll(&p, 1, (int)left) < 0 && errno != EINTR ? -errno : 0;
}

static int wait_for_hello(const struct helper *h, struct error *err)
{
	int64_t end_ms = now_ms() + HELLO_MS;
	struct helper_reply reply;
	int r;

	while ((r = receive(h, &reply)) == -EAGAIN) {
		r = wait_until(h, end_ms);
		if (r < 0)
			break;
	}
	if (r < 0)
		return error_set_errno(err, r, "the root helper did not start");
	if (reply.result < 0)
		return error_set(err, reply.result, "the root helper did not start: %s",
				 reply.text);
	return 0;
}

struct helper *helper_stop(struct helper *h)
{
	struct helper_request end = { .kind = HELPER_END };

	if (!h)
		return NULL;
	if (h->fd >= 0 && h->pid > 0)
		(void)request(h, &end, NULL);
	closep(&h->fd); /* it ends by that, too */
	while (h->pid > 0 && waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(h);
	return NULL;
}

void helper_stopp(struct helper **h)
{
	helper_stop(*h);
}

int helper_start(int root_fd, const struct helper_leftovers *leftovers, struct helper **ret,
		 struct error *err)
{
	_cleanup_(helper_stopp) struct helper *h = calloc(1, sizeof(*h));
	int ends[2], r;

	if (!h)
		return error_set_errno(err, ENOMEM, "cannot start the root helper");
	h->fd = -EBADF;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set_errno(err, errno, "cannot start the root helper");
	h->pid = fork();
	if (h->pid == 0)
		be_helper(ends[1], root_fd, leftovers);
	close(ends[1]);
	h->fd = ends[0];
	if (h->pid < 0)
		return error_set_errno(err, errno, "cannot start the root helper");
	r = wait_for_hello(h, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(h);
	return 0;
}

/* ---- requests ---- */

/* A group that came too late is removed at once. */
static void take_late(struct helper *h, const struct helper_reply *reply)
{
	if (reply->kind == HELPER_MAKE && reply->result == 0)
		(void)helper_remove_group(h, reply->token, NULL);
}

static int wait_for_group(struct helper *h, uint32_t sequence, struct helper_reply *ret)
{
	int64_t end_ms = now_ms() + MAKE_MS;

	for (;;) {
		int r = receive(h, ret);

		if (r == 0 && ret->sequence == sequence)
			return 0;
		if (r == 0)
			take_late(h, ret);
		else if (r == -EAGAIN)
			r = wait_until(h, end_ms);
		if (r < 0)
			return r;
	}
}

void helper_set_key(struct helper *h, const struct hierarchy *hierarchy)
{
	h->key = hierarchy->is_v2 ? 0 : 1 + (uint32_t)hierarchy->key;
}

int helper_make_group(struct helper *h, pid_t pid, uid_t uid, unsigned int number,
		      struct helper_group *ret, struct error *err)
{
	struct helper_request make = {
		.kind = HELPER_MAKE, .pid = pid, .uid = uid, .number = number, .key = h->key
	};
	struct helper_reply reply;
	int r = request(h, &make, err);

	if (r < 0)
		return r;
	r = wait_for_group(h, make.sequence, &reply);
	if (r < 0)
		return error_set_errno(err, r, "the root helper does not answer");
	if (reply.result < 0)
		return error_set(err, reply.result, "%s", reply.text);
	*ret = (struct helper_group){ .token = reply.token, .id = reply.group_id };
	return 0;
}

int helper_remove_group(struct helper *h, uint64_t token, struct error *err)
{
	struct helper_request remove = { .kind = HELPER_REMOVE, .token = token };

	return request(h, &remove, err);
}

int helper_release_group(struct helper *h, unsigned int number, struct error *err)
{
	struct helper_request release = { .kind = HELPER_RELEASE, .number = number };

	return request(h, &release, err);
}

int helper_run(struct helper *h)
{
	struct helper_reply reply;
	int r;

	while ((r = receive(h, &reply)) == 0)
		take_late(h, &reply);
	return r == -EAGAIN ? 0 : r;
}

int helper_fd(const struct helper *h)
{
	return h->fd;
}

pid_t helper_pid(const struct helper *h)
{
	return h->pid;
}
