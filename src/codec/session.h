/* SPDX-License-Identifier: MIT */
/* session - several jobs that were measured together: jobmeter.session/1. */
#pragma once

#include <stdint.h>

#include "codec/records.h"

struct document;

#define SESSION_SCHEMA "jobmeter.session/1"

struct session {
	const char *name; /* what was asked for: "user alice"; the caller's */
	uint64_t start_ns, end_ns; /* since the epoch */
	uint64_t elapsed_ns; /* by CLOCK_BOOTTIME */
	struct records jobs; /* owned */
};

void session_clear(struct session *s);

/* All its jobs as one record, which is the caller's: what their sum means, notes in it say.
 * -ENODATA: it has none. */
int session_sum(const struct session *s, struct record **ret);

/* Writes a record as one map, with what its owner concludes from it. */
struct record_writer {
	int (*write)(const void *context, const struct record *record, struct document *d);
	const void *context;
};

/* Write it as one map, with @summary, which may be NULL; all records by @writer.  What that
 * returns. */
int session_format(const struct session *s, const struct record *summary,
		   const struct record_writer *writer, struct document *d);
