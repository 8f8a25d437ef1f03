/* SPDX-License-Identifier: MIT */
/* forest - trees of decisions, as data: their leaves add up. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#define FOREST_NODES_MAX (1u << 20)
#define FOREST_DEPTH_MAX 64

struct forest_node {
	int feature; /* -1: a leaf */
	float value; /* of a leaf; else the row goes to @yes if its feature is less */
	unsigned int yes, no; /* nodes behind this one */
};

struct forest { /* begins as {} */
	struct forest_node *nodes; /* owned */
	unsigned int *roots; /* owned */
	size_t count, room, root_count, root_room;
	float base; /* what the leaves are added to */
};

/* The forest as bytes, and back.  -ENOMEM; -EBADMSG: they are no forest whose every walk ends in a
 * leaf. */
int forest_write(const struct forest *forest, FILE *out);
int forest_read(const void *bytes, size_t size, struct forest *ret);

double forest_predict(const struct forest *forest, const float *row);
void forest_clear(struct forest *forest);
