/* SPDX-License-Identifier: MIT */
/*
 * answers - the server's answers for the records of a batch: one line of JSON each, in the order of
 * sending.  "taken" and "known" mean that the server has the record for good.
 */
#pragma once

#include <stddef.h>

struct error;

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
