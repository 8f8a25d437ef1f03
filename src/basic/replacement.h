/* SPDX-License-Identifier: MIT */
/*
 * replacement - a file that atomically replaces another when it is complete.
 *
 * It is written beside the target under a temporary name; the target stays until the end.
 * Terminals, pipes and the like are written to directly. One that must be new replaces nothing, and
 * is never visible half-written either.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct error;

struct replacement { /* begins as {} */
	FILE *stream;
	char *path, *temporary; /* no temporary: written directly */
	bool must_be_new; /* set by the caller before the end: where there is a file by then,
			     -EEXIST */
};

/* @mode, less the umask, is the new file's; a link is followed. */
int replacement_open(const char *path, unsigned int mode, struct replacement *ret,
		     struct error *err);

/* Flush, sync, and take the place.  Afterwards, and after a failure, the replacement is empty. */
int replacement_commit(struct replacement *r, struct error *err);

/* Give up: nothing is left of it.  An empty one is fine. */
void replacement_abandon(struct replacement *r);

/* Whether replacement_open() would work, by trying; nothing is left of it. */
int replacement_check(const char *path, struct error *err);
