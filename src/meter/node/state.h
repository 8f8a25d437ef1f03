/* SPDX-License-Identifier: MIT */
/*
 * state - what the agent knows of its jobs, on disk: a directory of files, one a job.
 *
 * Each is written whole or not at all.  Nothing that another made is trusted: what is torn, no
 * plain file, another's or too large is set aside once, as NAME.bad, counted, and told with its
 * reason.  One agent at a time: see lock.h.
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
/* How names end, of JSON and of anything else: who reads back tells what is not his. */
#define STATE_OF_JSON ".json"
#define STATE_OF_BYTES ".state"

/* The file's name of a job.  @maker: the user who made its groups, since others may choose the same
 * id; -1: none.  Any bytes are fine, and no two jobs share one; but of an id over some 130 bytes
 * that are no letters, 220 that are, it holds a digest.  -ENAMETOOLONG: the manager's name is too
 * long. */
int state_name(const char *manager, const char *id, int64_t maker, char ret[STATE_NAME_SIZE]);

/* Make the directory @path if it is not there, 0700 and @uid's and @gid's (while we may still give
 * it away), and keep it open.  -EPERM: there is one that others may write to. */
int state_open(const char *path, uid_t uid, gid_t gid, struct state **ret, struct error *err);
struct state *state_close(struct state *s); /* NULL is fine; returns NULL */
void state_closep(struct state **s);

/* @is_lasting: it must survive a loss of power; else it is worthless after one. */
int state_write(struct state *s, const char *name, const char *text, size_t length, bool is_lasting,
		struct error *err);

/*
 * The last state before what it was read from is erased: the kernel side of that number.  Both
 * cannot be done at once, so it stands beside what is there, and counts for nothing until
 * state_settle().
 */
int state_write_last(struct state *s, const char *name, uint32_t kernel_side, const char *text,
		     size_t length, struct error *err);
/* What state_write_last() left takes the place of what is there if its kernel side is no more, and
 * is removed if it is.  On failure some of it is left, and what state_read_all() gives is too
 * little: it is to be called again. */
int state_settle(struct state *s, bool (*is_there)(void *context, uint32_t kernel_side),
		 void *context, struct error *err);

int state_remove(struct state *s, const char *name, struct error *err); /* gone already is fine */

/*
 * Whether a file was set aside, or writing began to fail, began to fail otherwise, or works again
 * since this was asked last: then *err says so, once.  Of files that are set aside NOTICES_MAX are
 * told one by one.
 */
bool state_has_news(struct state *s, struct error *err);
int state_failure(const struct state *s); /* of the last that was to be written, negative errno; 0:
					     it was */

/* 0: taken; -EINVAL, -EBADMSG: torn or not ours, *@err says why, it is set aside; any other:
 * reading ends there with it.  @text ends in a NUL. */
typedef int (*state_visit)(void *context, const char *name, const char *text, size_t length,
			   struct error *err);

/* Every file there is, in no order.  Half-written ones are removed. */
int state_read_all(struct state *s, state_visit visit, void *context, struct error *err);

struct state_counts {
	uint64_t errors; /* files that could not be written or removed */
	uint64_t set_aside; /* files that were not taken */
};
struct state_counts state_get_counts(const struct state *s);
