/* SPDX-License-Identifier: MIT */
/*
 * shape - what a structure of a record holds, as a table of its fields.
 *
 * Writing, reading, adding, raising, subtracting and clearing walk the table: a section describes
 * itself once, and has code of its own only where no rule fits.  A structure of which all bytes are
 * zero is empty and can be cleared.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/metric.h"
#include "model/reading.h"

struct document;
struct place;

enum field_kind {
	SHAPE_TEXT, /* char[size], never more; of rows that become one that of the first stays */
	SHAPE_NUMBER, /* uint64_t, a sum */
	SHAPE_NUMBERS, /* uint64_t of each metric from @first to before @end, or a struct histogram,
			  which is the last; by the metric's kind */
	SHAPE_VALUES, /* the same as struct value, without a histogram */
	SHAPE_LIST, /* of @rows: a pointer, owned, and behind it a size_t, how many there are */
};

enum field_flag {
	SHAPE_KEY = 1, /* a text that tells rows apart, and is not "" */
	SHAPE_NEEDED = 2, /* sums have to be there in what is read */
	SHAPE_PARTIAL = 4, /* of values: a sum is known where any part is, not only where all are */
};

struct field {
	const char *key; /* of numbers NULL: they are members of the map itself, else a map, which
			    is left out where all are 0; of a list NULL: it is all that there is */
	enum field_kind kind;
	unsigned int flags;
	size_t offset;
	size_t size; /* of a text */
	enum metric_unit unit; /* of a number */
	enum metric_id first, end;
	uint64_t most; /* of each number that is read; 0: VALUE_MAX */
	const struct shape *rows;
};

struct shape {
	size_t size;
	const struct field *fields;
	size_t count;
	/* Of rows. */
	bool is_flat; /* written on a line */
	size_t max; /* what comes then is one row more, of which all texts are SHAPE_OTHER */
	int (*order)(const void *a, const void *b); /* NULL: as they came */
	/* What the table does not say of a row that was read.  -EINVAL, and the place's error. */
	int (*check)(const struct place *place, const void *row);
};
#define SHAPE_OTHER "(other)"
#define SHAPE_OF(type, table) .size = sizeof(type), .fields = (table), .count = ARRAY_SIZE(table)

void shape_clear(const struct shape *s, void *of);
bool shape_is_empty(const struct shape *s, const void *of); /* no row, and no sum above 0 */
/* Add, or raise each number to what it is in @from; rows by their keys.  -ENOMEM. */
int shape_join(const struct shape *s, bool is_raised, void *to, const void *from);
/* What came after @earlier: rows in which nothing came go, and peaks that did not rise are not
 * known.  False: a number fell, which is 0 then, or a row is gone. */
bool shape_subtract(const struct shape *s, void *later, const void *earlier);
/* The members of a map, or the list itself. */
void shape_format(const struct shape *s, const void *of, struct document *d);
int shape_parse(const struct shape *s, const struct place *place, const json_t *json, void *ret);

/* ---- of what has a list ---- */

/* The row with the keys of @like; NULL: there is none. */
void *shape_find(const struct shape *s, const void *of, const void *like);
/* The same, or that of all others, or a copy of @like that is added; until the next call.  NULL: no
 * memory. */
void *shape_row(const struct shape *s, void *of, const void *like);
/* Add a row to the one with its keys, or to the list.  -ENOMEM. */
int shape_add_row(const struct shape *s, void *of, const void *row);
void shape_sort(const struct shape *s, void *of);
/* The @i-th; NULL: there are no more. */
const void *shape_at(const struct shape *s, const void *of, size_t i);

/* A metric's number in a row; whether any of its field is above 0; and over all rows. */
struct value shape_number(const struct shape *s, const void *row, enum metric_id id);
bool shape_has(const struct shape *s, const void *row, enum metric_id id);
struct value shape_total(const struct shape *s, const void *of, enum metric_id id);
/* A row's keys as one text: "mpi-io/MPI_File_open". */
#define SHAPE_NAME_SIZE 160
const char *shape_name(const struct shape *s, const void *row, char ret[SHAPE_NAME_SIZE]);
