/* SPDX-License-Identifier: MIT */
#include "agent/span_sender.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "export/otlp_sender.h"
#include "service/privileges.h"
#include "service/syscall_filter.h"

#define PART_SIZE 32768
#define REQUEST_MAX (8 << 20)
#define PATIENCE_S 2 /* for room on the way */
#define LOOK_MS 1000 /* at what became of what was sent */
#define LAST_NS UINT64_C(4000000000) /* for the collector, at the end */

struct part {
	uint32_t length, spans; /* of the request */
	uint32_t offset, size; /* of this part of it */
	char text[PART_SIZE];
};
#define PART_HEAD offsetof(struct part, text)

/* ---- the sending process ---- */

struct assembly {
	struct otlp_sender *sender;
	char *text; /* NULL: no request has begun */
	uint32_t length, spans, have;
	uint64_t cut; /* spans of requests that did not come whole */
	uint64_t told; /* missing ones */
};

static void assembly_drop(struct assembly *a)
{
	if (a->text)
		a->cut += a->spans;
	free(a->text);
	a->text = NULL;
}

static void assembly_take(struct assembly *a, const struct part *part)
{
	if (!part->offset) {
		assembly_drop(a);
		a->text = malloc(part->length);
		a->length = part->length;
		a->spans = part->spans;
		a->have = 0;
	}
	if (!a->text || part->length != a->length || part->offset != a->have ||
	    part->size > a->length - a->have) {
		assembly_drop(a);
		return;
	}
	memcpy(a->text + a->have, part->text, part->size);
	a->have += part->size;
	if (a->have < a->length)
		return;
	otlp_sender_put(a->sender, a->text, a->length, a->spans);
	a->text = NULL;
}

static void say(const struct assembly *a, const struct otlp_sender_counts *c)
{
	fprintf(stderr,
		"spans of all jobs: %" PRIu64 " sent; missing: %" PRIu64 " not taken, %" PRIu64
		" refused, %" PRIu64 " when the queue was full, %" PRIu64
		" when the time was up, %" PRIu64 " cut off%s%s\n",
		c->sent, c->rejected, c->refused, c->dropped, c->unsent, a->cut,
		*c->why ? "; the last reason: " : "", c->why);
}

static void say_missing(struct assembly *a)
{
	struct otlp_sender_counts c;
	uint64_t missing;

	otlp_sender_get_counts(a->sender, &c);
	missing = c.rejected + c.refused + c.dropped + a->cut;
	if (missing <= 2 * a->told)
		return;
	a->told = missing;
	say(a, &c);
}

static void serve(struct assembly *a, int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };
	struct otlp_sender_counts c;
	struct part part;
	ssize_t n;

	for (;;) {
		(void)poll(&p, 1, LOOK_MS);
		say_missing(a);
		n = recv(fd, &part, sizeof(part), MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			break;
		if (n >= (ssize_t)PART_HEAD && n == (ssize_t)(PART_HEAD + part.size) &&
		    part.length && part.length <= REQUEST_MAX)
			assembly_take(a, &part);
	}
	assembly_drop(a);
	otlp_sender_finish(a->sender, LAST_NS, &c);
	say(a, &c);
}

static _Noreturn void be_sender(const char *url, const struct service_user *user, int fd)
{
	const struct privileges_options rights = { .user = user };
	struct assembly a = {};
	struct error err = {};
	int r;

	privileges_close_others(fd, fd);
	prctl(PR_SET_NAME, "jobmeter-spans");
	privileges_ignore_signals();
	r = privileges_drop(&rights, NULL, &err);
	/* libraries are loaded before the filter, which knows what they do once they are there */
	if (r >= 0)
		r = otlp_sender_open(url, &a.sender, &err);
	if (r >= 0)
		r = syscall_filter_apply(FILTER_SENDER, &err);
	if (r >= 0 || r == -EOPNOTSUPP)
		serve(&a, fd);
	else
		fprintf(stderr, "no spans are sent: %s\n", err.text);
	_exit(0);
}

int span_sender_start(const char *url, const struct service_user *user, int *ret_fd, pid_t *ret_pid,
		      struct error *err)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set_errno(err, errno, "cannot start what sends spans");
	(void)setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	*ret_pid = fork();
	if (*ret_pid == 0)
		be_sender(url, user, ends[1]);
	close(ends[1]);
	if (*ret_pid < 0) {
		close(ends[0]);
		return error_set_errno(err, errno, "cannot start what sends spans");
	}
	*ret_fd = ends[0];
	return 0;
}

/* ---- its client ---- */

int span_sender_put(void *fd, char *request, size_t length, size_t spans)
{
	struct part part = { .length = (uint32_t)length, .spans = (uint32_t)spans };

	for (size_t at = 0; at < length && length <= REQUEST_MAX; at += PART_SIZE) {
		part.offset = (uint32_t)at;
		part.size = (uint32_t)MIN(length - at, (size_t)PART_SIZE);
		memcpy(part.text, request + at, part.size);
		if (send(*(int *)fd, &part, PART_HEAD + part.size, MSG_NOSIGNAL) >= 0)
			continue;
		fprintf(stderr, "%zu spans are lost: the sender does not accept them\n", spans);
		break;
	}
	free(request);
	return 0;
}
