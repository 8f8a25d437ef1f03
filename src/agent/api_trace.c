/* SPDX-License-Identifier: MIT */
#include "agent/api_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/tracer_helper.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "export/trace_output.h"
#include "trace/installed_sets.h"

static const char *const types[] = { [TRACE_TEXT] = "text/plain; charset=utf-8",
				     [TRACE_CHROME] = "application/json",
				     [TRACE_FOLDED] = "text/plain; charset=utf-8",
				     [TRACE_NDJSON] = "application/x-ndjson" };

struct api_stream {
	struct api_traces *traces;
	struct api_stream *next;
	uid_t uid;
	int fd; /* of the session, which ends when it is closed */
	enum trace_format format;
};

static void close_stream(void *context)
{
	struct api_stream *s = context, **at = &s->traces->first;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	closep(&s->fd);
	free(s);
}

static ssize_t read_stream(void *context, char *buffer, size_t size)
{
	const struct api_stream *s = context;
	ssize_t n = recv(s->fd, buffer, size, MSG_DONTWAIT);

	return n < 0 ? -errno : n;
}

static unsigned int status_of(int result)
{
	return result == -ENOENT ? 404 : result == -EPERM ? 403 : result == -EBUSY ? 503 : 500;
}

static int begin_stream(void *context, struct http_answer *ret)
{
	const struct api_stream *s = context;
	struct tracer_reply reply;
	/* a process sends it at once, and it is small */
	ssize_t n = recv(s->fd, &reply, sizeof(reply), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (n != (ssize_t)sizeof(reply) || reply.magic != TRACER_MAGIC)
		return http_fail(ret, 503, "what traces went away");
	reply.text[sizeof(reply.text) - 1] = '\0';
	if (reply.result < 0)
		return http_fail(ret, status_of(reply.result), "%s", reply.text);
	ret->type = types[s->format];
	return 0;
}

static int find_level(const char *text, uint32_t *ret)
{
	for (uint32_t i = 0; probe_levels[i]; i++) {
		if (strcmp(probe_levels[i], text) == 0) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

static int copy(const char *text, char *ret, size_t size)
{
	if (strlen(text) >= size)
		return -E2BIG;
	memcpy(ret, text, strlen(text) + 1);
	return 0;
}

/* 0, or an answer that says what is wrong. */
static int parse(const struct http_request *request, const struct api_trace_job *job,
		 struct tracer_request *q, struct http_answer *ret)
{
	const char *pid = http_query(request, "pid"), *sets = http_query(request, "sets"),
		   *level = http_query(request, "level"), *format = http_query(request, "format"),
		   *duration = http_query(request, "duration");
	enum trace_format form = TRACE_NDJSON;

	if (pid && parse_int(pid, 1, INT32_MAX, &q->pid) < 0)
		return http_fail(ret, 400, "'pid' is a process' number");
	if (job->path && (copy(job->path, q->group, sizeof(q->group)) < 0 ||
			  copy(job->name, q->job, sizeof(q->job)) < 0))
		return http_fail(ret, 400, "the job's names are too long");
	if (copy(sets ? sets : INSTALLED_SETS_DEFAULT, q->sets, sizeof(q->sets)) < 0)
		return http_fail(ret, 400, "'sets' is too long");
	if (level && find_level(level, &q->level) < 0)
		return http_fail(ret, 400, "'level' is default, profile or trace");
	if (format && (trace_format_parse(format, &form, NULL) < 0 || form >= ARRAY_SIZE(types)))
		return http_fail(ret, 400, "'format' is text, chrome, folded or ndjson");
	q->format = form;
	q->duration_ns = TRACER_DURATION_MAX_S * UINT64_C(1000000000);
	if (duration && (parse_seconds(duration, &q->duration_ns) < 0 || !q->duration_ns ||
			 q->duration_ns > TRACER_DURATION_MAX_S * UINT64_C(1000000000)))
		return http_fail(ret, 400, "'duration' is a number of seconds up to %d",
				 TRACER_DURATION_MAX_S);
	return 0;
}

int api_trace_answer(struct api_traces *traces, const struct http_request *request,
		     const struct api_trace_job *job, struct http_answer *ret)
{
	struct tracer_request q = { .uid = request->peer.uid, .gid = request->peer.gid };
	struct api_stream *s;
	struct error err = {};
	int r = parse(request, job, &q, ret);

	if (r < 0 || ret->text)
		return r;
	s = malloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct api_stream){ .traces = traces,
				  .next = traces->first,
				  .uid = request->peer.uid,
				  .format = (enum trace_format)q.format };
	r = tracer_helper_begin(traces->tracer, &q, &s->fd, &err);
	if (r < 0) {
		free(s);
		return http_fail(ret, 503, "%s", err.text);
	}
	traces->first = s;
	ret->fd = s->fd;
	ret->begin = begin_stream;
	ret->next = read_stream;
	ret->done = close_stream;
	ret->context = s;
	return 0;
}

int api_trace_end(struct api_traces *traces, const struct http_request *request,
		  struct http_answer *ret)
{
	size_t count = 0;

	for (const struct api_stream *s = traces->first; s; s = s->next) {
		if (s->uid != request->peer.uid)
			continue;
		shutdown(s->fd, SHUT_WR);
		count++;
	}
	if (!count)
		return http_fail(ret, 404, "no trace of yours is under way");
	ret->text = strdup("{}\n");
	ret->length = ret->text ? strlen(ret->text) : 0;
	return ret->text ? 0 : -ENOMEM;
}
