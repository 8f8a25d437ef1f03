/* SPDX-License-Identifier: MIT */
/*
 * reply - an HTTP/1.1 reply, parsed as it comes: with a length, in chunks, or up to the end of the
 * connection.
 *
 * Whoever sends it is trusted in nothing: the head is bounded, and so is the body.  Codings of the
 * content are not understood; none is to be asked for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPLY_LINE_SIZE 1024 /* of the head, of which nothing longer is of use to us */
#define REPLY_HEAD_MAX (16 * 1024)

enum reply_part {
	REPLY_STATUS, /* its first line comes next */
	REPLY_FIELDS,
	REPLY_BODY, /* of @left bytes, or until the end */
	REPLY_CHUNK_LENGTH, /* the line with it */
	REPLY_CHUNK, /* of which @left bytes are to come */
	REPLY_CHUNK_END, /* the empty line behind it */
	REPLY_TRAILER,
	REPLY_WHOLE,
};

struct reply { /* begins as { .max = BYTES } */
	size_t max; /* of the body */
	unsigned int status; /* 0: it has not come yet */
	char *text; /* the body, owned, NUL-ended; NULL: nothing of it came */
	size_t length;
	const char *why; /* what is wrong with it, in words; of static duration */

	/* private */
	enum reply_part part;
	bool is_chunked, has_length;
	uint64_t left;
	size_t room, head_length, line_length;
	char line[REPLY_LINE_SIZE];
};

void reply_clear(struct reply *r);

/* Put what came behind the body, whatever the head says.  -EMSGSIZE, -ENOMEM. */
int reply_add(struct reply *r, const char *data, size_t length);

/* What came next.  1: it is whole, and what follows is not part of it; 0: more is to come; -EPROTO:
 * that is no reply, or none of ours, see @why; -EMSGSIZE: its body is longer than max; -ENOMEM. */
int reply_feed(struct reply *r, const char *data, size_t length);

/* Nothing more will come.  -ECONNRESET: it is not whole. */
int reply_end(struct reply *r);
