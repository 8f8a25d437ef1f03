/* SPDX-License-Identifier: MIT */
#include "agent/tracer_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "codec/trace_post.h"
#include "service/privileges.h"

#define HELLO_MS 10000
#define WORDS_AT_ONCE 64
#define WORD_S 2 /* that who tells waits for room */
#define LAST_MS 5000

struct tracer_helper {
	int fd; /* -EBADF: it is gone */
	int words_fd; /* -EBADF: it tells nothing */
	pid_t pid;
};

static _Noreturn void be_tracer(int fd, int words_fd, const struct tracer_plan *plan)
{
	privileges_close_others(fd, words_fd >= 0 ? words_fd : fd);
	tracer_serve(fd, words_fd, plan);
	_exit(0);
}

static int wait_for_hello(const struct tracer_helper *h, struct error *err)
{
	struct pollfd p = { .fd = h->fd, .events = POLLIN };
	struct tracer_reply hello = {};

	if (poll(&p, 1, HELLO_MS) <= 0 ||
	    recv(h->fd, &hello, sizeof(hello), MSG_DONTWAIT) != (ssize_t)sizeof(hello))
		return error_set(err, -EPIPE, "the helper that traces did not start");
	hello.text[sizeof(hello.text) - 1] = '\0';
	return hello.result < 0 ? error_set(err, hello.result,
					    "the helper that traces did not start: %s", hello.text)
				: 0;
}

static int make_words(const struct tracer_plan *plan, int ends[2])
{
	const struct timeval patience = { .tv_sec = WORD_S };

	if (!*plan->sets)
		return 0;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ||
			       setsockopt(ends[1], SOL_SOCKET, SO_SNDTIMEO, &patience,
					  sizeof(patience)) < 0
		       ? -errno
		       : 0;
}

int tracer_helper_start(const struct tracer_plan *plan, struct tracer_helper **ret,
			struct error *err)
{
	struct tracer_helper *h = calloc(1, sizeof(*h));
	int ends[2], words[2] = { -EBADF, -EBADF }, r;

	if (!h || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ||
	    make_words(plan, words) < 0) {
		free(h);
		return error_set_errno(err, errno, "cannot start the helper that traces");
	}
	h->pid = fork();
	if (h->pid == 0)
		be_tracer(ends[1], words[1], plan);
	close(ends[1]);
	closep(&words[1]);
	h->fd = ends[0];
	h->words_fd = words[0];
	r = h->pid < 0 ? error_set_errno(err, errno, "cannot start the helper that traces")
		       : wait_for_hello(h, err);
	if (r < 0) {
		tracer_helper_stop(h);
		return r;
	}
	*ret = h;
	return 0;
}

void tracer_helper_bury(struct tracer_helper *h)
{
	closep(&h->fd); /* it ends by that */
	closep(&h->words_fd);
	h->fd = h->words_fd = -EBADF;
	while (h->pid > 0 && waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	h->pid = 0;
}

struct tracer_helper *tracer_helper_stop(struct tracer_helper *h)
{
	if (h)
		tracer_helper_bury(h);
	free(h);
	return NULL;
}

int tracer_helper_fd(const struct tracer_helper *h)
{
	return h->fd;
}

int tracer_helper_words_fd(const struct tracer_helper *h)
{
	return h->words_fd;
}

/* 1: one is taken; 0: it was the last, or there is none; < 0: there is none now. */
static int take_word(const struct tracer_helper *h, char *text, tracer_listener take, void *context)
{
	_cleanup_(trace_post_clear) struct trace_post post = {};
	const ssize_t n = recv(h->words_fd, text, TRACER_WORD_SIZE, MSG_DONTWAIT);

	if (n < 0)
		return -errno;
	if (n > 0 && trace_post_parse(text, (size_t)n, &post, NULL) == 0)
		take(context, &post);
	return n > 0;
}

void tracer_helper_hear(struct tracer_helper *h, tracer_listener take, void *context)
{
	_cleanup_free_ char *text = malloc(TRACER_WORD_SIZE);

	for (int i = 0; text && i < WORDS_AT_ONCE && take_word(h, text, take, context) > 0; i++)
		;
}

void tracer_helper_finish(struct tracer_helper *h, tracer_listener take, void *context)
{
	_cleanup_free_ char *text = malloc(TRACER_WORD_SIZE);
	struct pollfd p = { h->words_fd, POLLIN, 0 };

	if (!text || h->words_fd < 0)
		return;
	shutdown(h->words_fd, SHUT_WR);
	while (poll(&p, 1, LAST_MS) > 0 && take_word(h, text, take, context) != 0)
		;
}

static int send_with(int fd, struct tracer_request *request, int passed)
{
	struct iovec data = { request, sizeof(*request) };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {};
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };

	control.header = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.header), &passed, sizeof(passed));
	return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int tracer_helper_begin(struct tracer_helper *h, struct tracer_request *request, int *ret_fd,
			struct error *err)
{
	int ends[2], r;

	request->magic = TRACER_MAGIC;
	if (h->fd < 0)
		return error_set(err, -EPIPE, "the helper that traces is gone");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set_errno(err, errno, "cannot ask the helper that traces");
	r = fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : send_with(h->fd, request, ends[1]);
	close(ends[1]);
	if (r < 0) {
		close(ends[0]);
		return error_set_errno(err, r == -EAGAIN ? -EBUSY : r,
				       "cannot ask the helper that traces");
	}
	*ret_fd = ends[0];
	return 0;
}
