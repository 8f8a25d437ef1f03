/* SPDX-License-Identifier: MIT */
/*
 * state - what the agent knows of its jobs, on disk: a folder of files, one a job.
 *
 * Each is written whole or not at all.  Nothing that another made is trusted: what is torn, no
 * plain file, another's or too large is set aside once, as NAME.bad, and counted.  One agent at a
 * time: see lock.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct state;

#define STATE_BYTES_MAX (4u << 20) /* of one file */
#define STATE_FILES_MAX 65536	   /* that are read back */
#define STATE_BAD_MAX 16	   /* files set aside that are kept; further ones are removed */
#define STATE_NAME_SIZE 232

/* The file's name of a job.  Any bytes are fine, and no two jobs share one.  -ENAMETOOLONG: over
 * some 130 bytes that are no letters, 220 that are. */
int state_name(const char *manager, const char *id, char ret[STATE_NAME_SIZE]);

/* Make the folder @path if it is not there, 0700 and @uid's and @gid's (while we may still give it
 * away), and keep it open.  -EPERM: there is one that others may write to. */
int state_open(const char *path, uid_t uid, gid_t gid, struct state **ret, struct error *err);
struct state *state_close(struct state *s); /* NULL is fine; returns NULL */
void state_closep(struct state **s);

/* @is_lasting: it must survive a loss of power; else it is worthless after one. */
int state_write(struct state *s, const char *name, const char *text, size_t length, bool is_lasting,
		struct error *err);
int state_remove(struct state *s, const char *name, struct error *err); /* gone already is fine */

/*
 * Whether writing began to fail, began to fail otherwise, or works again since this was asked last:
 * then *err says so, once.
 */
bool state_has_news(struct state *s, struct error *err);

/* 0: taken; -EINVAL, -EBADMSG: torn or not ours, it is set aside; any other: reading ends there
 * with it.
 * @text ends in a NUL. */
typedef int (*state_visit)(void *context, const char *name, const char *text, size_t length);

/* Every file there is, in no order.  Half-written ones are removed. */
int state_read_all(struct state *s, state_visit visit, void *context, struct error *err);

struct state_counts {
	uint64_t errors;    /* files that could not be written or removed */
	uint64_t set_aside; /* files that were not taken */
};
struct state_counts state_get_counts(const struct state *s);
