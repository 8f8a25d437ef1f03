/* SPDX-License-Identifier: MIT */
/*
 * state - what the agent knows of its jobs, on disk: a directory with a file for each job.
 *
 * Each is written whole or not at all. Nothing made by others is trusted: a torn file, one that is
 * not plain, another's or too large is renamed to NAME.bad, counted, and reported with its reason.
 * One agent at a time: see lock.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct state;

#define STATE_BYTES_MAX (8u << 20) /* of one file: as much as a job's reader takes */
#define STATE_FILES_MAX 65536 /* that are read back */
#define STATE_BAD_MAX 16 /* files set aside that are kept; further ones are removed */
#define STATE_NAME_SIZE 232
/* Endings of names, for JSON and for anything else: readers reject others. */
#define STATE_OF_JSON ".json"
#define STATE_OF_BYTES ".state"

/* Make the directory @path if it is not there, 0700 and @uid's and @gid's (while we may still give
 * it away), and keep it open.  -EPERM: there is one that others may write to. */
int state_open(const char *path, uid_t uid, gid_t gid, struct state **ret, struct error *err);
struct state *state_close(struct state *s); /* NULL is fine; returns NULL */
void state_closep(struct state **s);

/* @is_lasting: it must survive a loss of power; else it is worthless after one. */
int state_write(struct state *s, const char *name, const char *text, size_t length, bool is_lasting,
		struct error *err);

/*
 * The last state before its source, the kernel side of that number, is erased. Both cannot be done
 * at once: so it is written beside the present one, and is not valid until state_settle().
 */
int state_write_last(struct state *s, const char *name, uint32_t kernel_side, const char *text,
		     size_t length, struct error *err);
/* Moves what state_write_last() left into place if its kernel side is gone, else removes it. On
 * failure some is left, and state_read_all() gives too little: call it again. */
int state_settle(struct state *s, bool (*is_there)(void *context, uint32_t kernel_side),
		 void *context, struct error *err);

int state_remove(struct state *s, const char *name, struct error *err); /* gone already is fine */

/*
 * Whether a file was set aside, or writing began to fail, changed its error, or works again since
 * the last call: then *err says so, once. At most NOTICES_MAX files are reported one by one.
 */
bool state_has_news(struct state *s, struct error *err);
int state_failure(const struct state *s); /* of the last that was to be written, negative errno; 0:
					     it was */

/* 0: taken; -EINVAL, -EBADMSG: torn or not ours, set aside with the reason in *@err; other
 * errors end the reading. @text ends in a NUL. */
typedef int (*state_visit)(void *context, const char *name, const char *text, size_t length,
			   struct error *err);

/* Every file there is, in no order.  Half-written ones are removed. */
int state_read_all(struct state *s, state_visit visit, void *context, struct error *err);

struct state_counts {
	uint64_t errors; /* files that could not be written or removed */
	uint64_t set_aside; /* files that were not taken */
};
struct state_counts state_get_counts(const struct state *s);
