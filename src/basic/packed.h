/* SPDX-License-Identifier: MIT */
/*
 * packed - a list of numbers in little memory, which grows at its end.
 *
 * Small numbers take a byte or two, and a run of equal ones as much as one, so constant values are
 * free. They are read in order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKED_COUNT_MAX 4096
#define PACKED_NONE UINT64_MAX /* a number that is missing */
#define PACKED_MAX ((uint64_t)INT64_MAX)

struct packed_run { /* of equal numbers */
	uint64_t number;
	uint32_t times;
};

struct packed { /* begins as {} */
	uint8_t *bytes; /* all but the last run */
	uint16_t used, room;
	uint16_t count; /* of numbers */
	uint16_t last_times; /* the last run */
	uint64_t last_number;
};

/* @number (at most PACKED_MAX, or PACKED_NONE), @times times.  -ENOMEM, or -ENOSPC over
 * PACKED_COUNT_MAX of them: nothing has changed. */
int packed_append(struct packed *p, uint64_t number, uint32_t times);

/* The next run behind *@at, which begins as 0; no two in a row have one number.  False: that was
 * all. */
bool packed_next(const struct packed *p, size_t *at, struct packed_run *ret);

/* All of them; @ret has room for p->count. */
void packed_unpack(const struct packed *p, uint64_t *ret);

/* Copy into @to, which must be empty.  -ENOMEM: it still is. */
int packed_copy(struct packed *to, const struct packed *from);

/* Frees what the list owns; it is empty then. */
void packed_clear(struct packed *p);
