/* SPDX-License-Identifier: MIT */
/*
 * fixture - the environment of the self-test: a directory in memory, a pipe, memory for the
 * results, and perhaps a file on storage.  Made before the canary and released after it, by a
 * process that is not counted.
 */
#pragma once

#include <stdbool.h>
#include <sys/uio.h>

#include "basic/scratch.h"

struct error;
struct ring;

enum fixture_file {
	FIXTURE_NONE,
	FIXTURE_FILE,
	FIXTURE_DIR,
	FIXTURE_LINK,
	FIXTURE_PIPE_OUT,
	FIXTURE_PIPE_IN,
	FIXTURE_FILES,
};

#define FIXTURE_BYTES 4096

/* What the canary sent to itself through a connection of TCP, in calls of their own. */
struct selftest_talk {
	bool is_made; /* else the rest is unset: no loopback, say */
	unsigned int calls, bytes; /* each way */
};

struct fixture {
	struct scratch dir;
	int files[FIXTURE_FILES]; /* the pipe's; the others are the canary's */
	bool has_proc;
	bool has_libaio; /* run by libaio too */
	char *page; /* of a file on storage, not in memory yet; NULL: there is none */
	long *results; /* by case, in memory that both processes see... */
	struct selftest_talk *talk; /* ...as this */

	/* The canary's own. */
	struct ring *ring;
	char own[64]; /* another path to FIXTURE_FILE, which leads over another file system */
	char bytes[FIXTURE_BYTES];
	struct iovec piece;
	long long from, to; /* offsets */
};

/* @ret need not be cleared before; fixture_close() is due after a failure too.  @with_storage: look
 * for a file on storage, which may have to wait for it; there may be none. */
int fixture_open(bool with_storage, struct fixture *ret, struct error *err);
void fixture_close(struct fixture *s);
