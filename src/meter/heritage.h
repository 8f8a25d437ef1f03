/* SPDX-License-Identifier: MIT */
/*
 * heritage - what pinned sets that cannot be taken over have counted: those of an older or newer build, or of other
 * settings.
 *
 * Their maps are read by the types that they themselves tell.  What runs until the next ones are attached is counted by
 * nobody; tasks that still live are counted whole by who comes next.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks.h"
#include "leaves.h"
#include "oom.h" /* the kernel side's */

struct pins;

struct heritage_place {
	uint64_t place;
	struct superblock superblock;
};

struct heritage_victim {
	uint64_t leaf;
	struct oom_victim victim;
};

struct heritage { /* begins as {} */
	struct leaf_row *rows; /* LEAF_OTHER's too */
	size_t row_count;
	struct leaf_histograms *histograms;
	size_t histogram_count;
	struct leaf_tasks *tasks; /* one a leaf and set, sorted by leaf: of tasks that ended, whose number is @ended */
	size_t task_count;
	bool has_times, has_looks; /* those of them are known, of some set at least */
	struct heritage_victim *victims; /* whom the kernel killed */
	size_t victim_count;
	bool has_network; /* of all sets */
	bool has_details;
	struct leaf_block *blocks;
	size_t block_count;
	bool has_block; /* the same */
	struct group_life *groups;
	size_t group_count;
	struct heritage_place *places; /* what places of rows are */
	size_t place_count;

	size_t sets;        /* harvested */
	uint64_t lost;      /* what they could not count, over all reasons */
	uint64_t unsettled; /* tasks that had ended and are in no counter yet */
	uint64_t unread;    /* entries that could not be read */
	size_t unread_maps; /* maps that could not be read at all */
	bool is_counting;   /* hooks of theirs could not be detached, since another process holds them */
	char why[256];      /* what of the first was not understood, in words; "": all was */
};

/* Add what a set counted, whose hooks are detached. */
void heritage_harvest(struct heritage *h, const struct pins *set);

void heritage_clear(struct heritage *h);
