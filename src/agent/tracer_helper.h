/* SPDX-License-Identifier: MIT */
/*
 * tracer_helper - a second small process with rights, which is there only with `trace: users: on`
 * or `trace: sets`: it traces library functions of users' own processes for them, and of all jobs
 * for the site, since that takes rights that neither they nor the agent have.
 *
 * What may be traced it judges itself (trace/owner.h, trace/installed_sets.h).  It ends with the
 * agent, also with one that is killed, and all that it attached ends with it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct identity_rules;
struct service_user;
struct trace_post;
struct tracer_helper;
struct tracer_request;

struct tracer_plan { /* what it is for, which is settled when it starts */
	const struct service_user *user; /* who it becomes */
	bool serves_users;
	const char *sets; /* of all jobs, with commas; "": none */
	const char *otlp; /* URL of a collector that is sent their calls; "": none */
	const struct identity_rules *rules; /* the site's, by which a job is known */
};

/* Fork it, as root and before rights are given up. */
int tracer_helper_start(const struct tracer_plan *plan, struct tracer_helper **ret,
			struct error *err);
struct tracer_helper *tracer_helper_stop(struct tracer_helper *h); /* NULL is fine; returns NULL */

/* Begin a session.  *ret_fd, which does not block, is the caller's: a struct tracer_reply comes
 * first.  Closing it ends the session.  -EPIPE: the helper is gone; -EBUSY. */
int tracer_helper_begin(struct tracer_helper *h, struct tracer_request *request, int *ret_fd,
			struct error *err);

int tracer_helper_fd(const struct tracer_helper *h); /* readable: it is gone; -EBADF: that is known
						      */
void tracer_helper_bury(struct tracer_helper *h); /* then */

/* What it counts of groups: for poll(2), and to be taken then.  -EBADF: nothing. */
typedef void (*tracer_listener)(void *context, const struct trace_post *post);
int tracer_helper_words_fd(const struct tracer_helper *h);
void tracer_helper_hear(struct tracer_helper *h, tracer_listener take, void *context);
/* It counts no more; what it has counted is taken, for which it has some seconds. */
void tracer_helper_finish(struct tracer_helper *h, tracer_listener take, void *context);

/*
 * tracer_message - what the agent and the helper that traces say to each other, both of one build.
 *
 * A request comes with one end of a stream socket, to which a session of its own writes a struct
 * tracer_reply once it traces, or cannot, and then the calls as they are to be shown.  It ends when
 * the other end is closed.
 */

#define TRACER_MAGIC UINT32_C(0x6a6d7472)
#define TRACER_SETS_SIZE 256
#define TRACER_GROUP_SIZE 1024
#define TRACER_TEXT_SIZE 240

#define TRACER_SESSIONS 4 /* at once... */
#define TRACER_SESSIONS_OF_USER 1 /* ...of one */
#define TRACER_DURATION_MAX_S 3600

struct tracer_request {
	uint32_t magic;
	uint32_t uid, gid; /* of the caller, as the kernel says */
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
 * Of all jobs there is one session, which the agent does not ask for: the helper knows it from
 * its start, and starts it again when it ends.  Its words are datagrams with a trace_post each, of
 * a group that may be a job; an empty one is the last.  It ends when the agent shuts its end down.
 */
#define TRACER_WORD_SIZE (128 << 10)

/* The helper's whole life: returns when the agent has gone.  @words_fd -EBADF: there is no
 * listener. */
void tracer_serve(int fd, int words_fd, const struct tracer_plan *plan);

/* The session of all jobs, in a process of its own. */
/* @spans_fd: of span_sender.h; -EBADF: no collector. */
void tracer_trace_jobs(const struct tracer_plan *plan, int words_fd, int spans_fd)
	__attribute__((noreturn));

/* A session's whole life, in a process of its own.  Its status is what it cost others, in units. */
#define TRACER_COST_NS UINT64_C(10000000)
void tracer_session(const struct tracer_request *request, int fd) __attribute__((noreturn));

/* Before a session, or in its place. */
void tracer_send_reply(int fd, int result, const char *text);
