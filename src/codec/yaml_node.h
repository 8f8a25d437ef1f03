/* SPDX-License-Identifier: MIT */
/*
 * YAML node - YAML as people write it by hand: maps, lists and scalars, each with its line.
 *
 * Everything else that YAML can do is refused, with its line: anchors and aliases (a few lines of
 * them stand for gigabytes), tags, several documents, keys that are no words or stand twice; and
 * what is too large.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

#define YAML_NODE_BYTES_MAX (256u << 10)
#define YAML_NODE_DEPTH_MAX 8
#define YAML_NODE_NODES_MAX 16384
#define YAML_NODE_KEYS_MAX 256 /* of one map */

enum yaml_node_kind {
	YAML_NODE_SCALAR,
	YAML_NODE_LIST,
	YAML_NODE_MAP,
};

struct yaml_node {
	enum yaml_node_kind kind;
	unsigned int line;
	char *key; /* in a map; else NULL */
	char *text; /* of a scalar: UTF-8 without NUL; else NULL */
	bool is_null; /* nothing is written there, or "~" or "null" */
	struct yaml_node *first; /* of a list or map, in the order of the text */
	struct yaml_node *next;
};

/* "a scalar", "a list", "a map". */
const char *yaml_node_kind_name(enum yaml_node_kind kind);

/* @text ends in a NUL.  @name stands before line numbers in errors.  A text without anything in it
 * is an empty map. -EINVAL: *err says "NAME:LINE: what is wrong"; -EFBIG: too large. */
int yaml_node_parse(const char *text, size_t length, const char *name, struct yaml_node **ret,
		    struct error *err);

struct yaml_node *yaml_node_free(struct yaml_node *o); /* NULL is fine; returns NULL */
void yaml_node_freep(struct yaml_node **o);
