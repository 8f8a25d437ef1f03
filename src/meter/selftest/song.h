/* SPDX-License-Identifier: MIT */
/*
 * song - what the canary does: each operation on files once, as a table, with where it should be counted.
 *
 * Behind it it says a few bytes to itself through a connection of TCP, where there is a loopback.  It is sung in memory.  Two parts are sung only where the stage has what they need: libaio, whose end the
 * kernel draws out for some 30 ms, and mappings, for which a file on storage is needed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/file_op.h"

#define SONG_VERSES_MAX 64
#define SONG_NAP_NS UINT64_C(1000000) /* how long the canary sleeps in a read at least */
#define VERSE_NOT_SUNG (-999999L) /* no result of any call */

enum verse_place {
	VERSE_ON_STAGE, /* the file system of the canary's folder */
	VERSE_ON_PIPE,
	VERSE_ON_STORAGE,
};

struct stage;

/* One system call, or what a function does. */
struct verse {
	enum file_op op;
	enum file_way way;
	enum verse_place place;
	const char *placed_by; /* the hook that alone tells its place; NULL: it is told with the call */
	long (*sing)(struct stage *stage);
	long nr, arguments[6];
	int keeps;     /* the result is this descriptor of the stage; 0: none */
	bool is_copy;  /* it is a write as well, whose place is @to */
	enum verse_place to;
	bool is_ended_by_signal;
};

const struct verse *song_verses(size_t *ret_count);

/* In the canary, once: sing, and note the results, a verse each.  Nothing is given back: the process ends.
 * -EIO: too little of it was possible to judge by. */
int song_sing(struct stage *s);
