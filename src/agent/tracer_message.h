/* SPDX-License-Identifier: MIT */
/*
 * tracer_message - what the agent and the helper that traces say to each other, both of one build.
 *
 * A request comes with one end of a stream socket, to which a session of its own writes a struct
 * tracer_reply once it traces, or cannot, and then the calls as they are to be shown.  It ends when
 * the other end is closed.
 */
#pragma once

#include <stdint.h>

struct error;

#define TRACER_MAGIC UINT32_C(0x6a6d7472)
#define TRACER_SETS_SIZE 256
#define TRACER_GROUP_SIZE 1024
#define TRACER_TEXT_SIZE 240

#define TRACER_SESSIONS 4 /* at once... */
#define TRACER_SESSIONS_OF_USER 1 /* ...of one */
#define TRACER_DURATION_MAX_S 3600

struct tracer_request {
	uint32_t magic;
	uint32_t uid, gid; /* who asks, as the kernel said */
	int32_t pid; /* 0: of the group */
	uint32_t format, level; /* enum trace_format, enum probe_level */
	uint64_t duration_ns; /* at most TRACER_DURATION_MAX_S */
	char sets[TRACER_SETS_SIZE]; /* names with commas; NUL-ended, as what follows */
	char group[TRACER_GROUP_SIZE]; /* a job's, in the key hierarchy; "": of the process */
	char job[TRACER_SETS_SIZE]; /* its name, for the calls */
};
_Static_assert(sizeof(struct tracer_request) == 32 + 256 + 1024 + 256, "no padding");

struct tracer_reply {
	uint32_t magic;
	int32_t result; /* 0: what follows is the trace; or -Exxx */
	char text[TRACER_TEXT_SIZE]; /* why not, in words */
};
_Static_assert(sizeof(struct tracer_reply) == 8 + TRACER_TEXT_SIZE, "no padding");

/*
 * Of all jobs there is one session, which the agent does not ask for: the helper was told at its
 * start, and starts it again when it ends.  Its words are datagrams with a trace_post each, of a
 * group that may be a job; an empty one is the last.  It ends when the agent shuts its end down.
 */
#define TRACER_WORD_SIZE (128 << 10)

/* The helper's whole life: returns when the agent has gone.  @words_fd -EBADF: nobody listens. */
struct tracer_plan;
void tracer_serve(int fd, int words_fd, const struct tracer_plan *plan);

/* The session of all jobs, in a process of its own. */
/* @spans_fd: of span_sender.h; -EBADF: nobody wants calls. */
void tracer_trace_jobs(const struct tracer_plan *plan, int words_fd, int spans_fd)
	__attribute__((noreturn));

/* A session's whole life, in a process of its own.  Its status is what it cost others, in units. */
#define TRACER_COST_NS UINT64_C(10000000)
void tracer_session(const struct tracer_request *request, int fd) __attribute__((noreturn));

/* Before a session, or in its place. */
void tracer_send_reply(int fd, int result, const char *text);
