/* SPDX-License-Identifier: MIT */
/* path - the name of a worker's file, which no other worker uses. */
#pragma once

#define PATH_BYTES 4096

struct path {
	char text[PATH_BYTES]; /* the whole */
	const char *name; /* from its folder on */
};

/* @worker's file @what in @folder; @what may name one below it: "folder/file". */
void path_make(struct path *ret, const char *folder, const char *worker, const char *what);
