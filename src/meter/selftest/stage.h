/* SPDX-License-Identifier: MIT */
/*
 * stage - what the canary's song needs: a folder in memory, a pipe, memory for the results, and perhaps a file
 * on storage.  Made before the canary is, and given back after it, by whoever is not counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "basic/scratch.h"

struct error;
struct ring;

enum stage_file {
	STAGE_NONE,
	STAGE_FILE,
	STAGE_FOLDER,
	STAGE_LINK,
	STAGE_PIPE_OUT,
	STAGE_PIPE_IN,
	STAGE_FILES,
};

#define STAGE_BYTES 4096

/* What the canary sent to itself through a connection of TCP, in calls of their own. */
struct song_talk {
	bool is_made; /* else nothing is told: there is no loopback, say */
	unsigned int calls, bytes; /* each way */
};

struct stage {
	struct scratch folder;
	int files[STAGE_FILES]; /* the pipe's; the others are the canary's */
	bool has_proc;
	bool has_libaio;        /* sing by libaio too */
	char *page;             /* of a file on storage, not in memory yet; NULL: there is none */
	long *results;          /* by verse, in memory that both processes see... */
	struct song_talk *talk; /* ...as this */

	/* The canary's own. */
	struct ring *ring;
	char own[64]; /* another path to STAGE_FILE, which leads over another file system */
	char bytes[STAGE_BYTES];
	struct iovec piece;
	long long from, to; /* offsets */
};

/* @ret need not be cleared before; stage_close() is due after a failure too.  @with_storage: look for a file
 * there, which may have to wait for the storage; where there is none to be had the stage is without. */
int stage_open(bool with_storage, struct stage *ret, struct error *err);
void stage_close(struct stage *s);
