/* SPDX-License-Identifier: MIT */
/*
 * outline - YAML as people write it by hand: maps, lists and scalars, each with its line.
 *
 * Everything else that YAML can do is refused, with its line: anchors and aliases (a few lines of
 * them stand for gigabytes), tags, several documents, keys that are no words or stand twice; and
 * what is too large.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

#define OUTLINE_BYTES_MAX (256u << 10)
#define OUTLINE_DEPTH_MAX 8
#define OUTLINE_NODES_MAX 16384
#define OUTLINE_KEYS_MAX 256 /* of one map */

enum outline_kind {
	OUTLINE_SCALAR,
	OUTLINE_LIST,
	OUTLINE_MAP,
};

struct outline {
	enum outline_kind kind;
	unsigned int line;
	char *key;	       /* in a map; else NULL */
	char *text;	       /* of a scalar: UTF-8 without NUL; else NULL */
	bool is_null;	       /* nothing is written there, or "~" or "null" */
	struct outline *first; /* of a list or map, in the order of the text */
	struct outline *next;
};

/* "a scalar", "a list", "a map". */
const char *outline_kind_name(enum outline_kind kind);

/* @text ends in a NUL.  @name stands before line numbers in errors.  A text without anything in it
 * is an empty map. -EINVAL: *err says "NAME:LINE: what is wrong"; -EFBIG: too large. */
int outline_parse(const char *text, size_t length, const char *name, struct outline **ret,
		  struct error *err);

struct outline *outline_free(struct outline *o); /* NULL is fine; returns NULL */
void outline_freep(struct outline **o);
