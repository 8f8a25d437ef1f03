/* SPDX-License-Identifier: MIT */
/*
 * sender - sends the records of the spool to the server, in batches, the oldest first; a separate
 * process (agent/sender_process.h).
 *
 * Only the server's answer for a record removes it from the spool: "taken" and "known" delete it,
 * "refused" sets it aside. After any other end of a request all its records stay and are sent
 * again; the server stores each once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "basic/transfer.h"

struct error;
struct sender;

/*
 * answers - the server's answers for the records of a batch: one line of JSON each, in the order of
 * sending.  "taken" and "known" mean that the server has the record for good.
 */

#define ANSWER_REASON_SIZE 256
#define ANSWER_LINE_MAX 8192 /* bytes; a longer line is no answer */

enum answer_kind {
	ANSWER_TAKEN,
	ANSWER_KNOWN, /* it had this one, or a better one of its job */
	ANSWER_REFUSED,
	ANSWER_KINDS,
};

struct answer {
	enum answer_kind kind;
	char reason[ANSWER_REASON_SIZE]; /* of what was refused, in a line */
};

const char *answer_kind_name(enum answer_kind kind); /* "taken" */

/*
 * The next line of *@text, which has *@length bytes left; both move behind it.  1: *ret is the
 * answer; 0: there is no further whole line, for one that lacks its end is cut and says nothing;
 * -EBADMSG: the line is no answer, and *err says why; -ENOMEM.
 */
int answer_next(const char **text, size_t *length, struct answer *ret, struct error *err);

#define SENDER_BATCH_MAX 256 /* records of one request */
#define SENDER_REFUSED_MAX 256 /* records that are kept aside... */
#define SENDER_REFUSED_BYTES (16u << 20) /* ...and how much they may take */

/* Status that the process sends to the agent after each request; fixed size. */
struct sender_status {
	uint64_t http_status; /* of the last request; 0: there was none, or no answer came */
	uint64_t records[2]; /* unsent, by is_final */
	uint64_t bytes; /* of them on disk */
	uint64_t oldest_ns; /* when the oldest was written, since the epoch; 0: none is left */
	uint64_t answered_ns; /* when the server last answered for records; 0: never */
	uint64_t requests, failed_requests;
	uint64_t answers[ANSWER_KINDS];
	uint64_t torn; /* files that were not whole, after a loss of power, and were removed */
	char text[320]; /* why records wait; "": they do not */
	char reason[ANSWER_REASON_SIZE]; /* of the last that was refused */
};
_Static_assert(sizeof(struct sender_status) == 12 * 8 + 320 + 256, "it has no hidden room");

struct sender_options {
	int dir_fd; /* the spool; stays the caller's */
	/* transfer_post(), or what a test has in its place; NULL: nothing can be sent yet. */
	int (*post)(void *context, const void *body, size_t length, struct transfer_answer *ret,
		    struct error *err);
	void *context;
	struct sender_status *status; /* outlives it; its counters continue */
};

/* NULL: no memory; the caller frees it by free(3). */
struct sender *sender_new(const struct sender_options *options);

enum sender_outcome {
	SENDER_IDLE, /* nothing is left */
	SENDER_MORE, /* the next batch can go at once */
	SENDER_LATER, /* after sender_delay_ms() */
};
/* Read the spool, send a batch, and apply the answers. */
enum sender_outcome sender_round(struct sender *s);
/* Doubles with each failure, up to some minutes, and is never the same on two nodes; no shorter
 * than the server asks for. */
uint64_t sender_delay_ms(const struct sender *s);

/* Each packet that comes by @fd says that there is something new; the status goes out by it. Ends
 * when its other end is closed. */
void sender_serve(struct sender *s, int fd);
