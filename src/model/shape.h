/* SPDX-License-Identifier: MIT */
/*
 * shape - describes a structure of a record as a table of its fields.
 *
 * Formatting, parsing, adding, raising, subtracting and clearing walk the table: a section
 * describes itself once and has its own code only where no rule fits.  A structure of zero bytes is
 * empty, and may be cleared.
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
	SHAPE_TEXT, /* char[size]; when rows are joined, the first row's text stays */
	SHAPE_STRING, /* char *, owned; NULL: absent */
	SHAPE_STRINGS, /* char *[size], owned; NULL ends them; further ones are left out */
	SHAPE_LENT, /* const char *, that of the JSON that it was parsed from, at most @size bytes;
		       "" where it is absent.  With names[@most]: one of those */
	SHAPE_LINES, /* struct strings; when parsed, those beyond STRINGS_MAX are left out */
	SHAPE_WORD, /* an unsigned integer of @size bytes, by its word in names[most]; no word: NULL
		     */
	SHAPE_UINT, /* an unsigned integer of @size bytes, at most @most */
	SHAPE_UINTS, /* a list of @size uint64_t */
	SHAPE_ID, /* a uint64_t as a text, since it uses all 64 bits; above 0 */
	SHAPE_TIME, /* uint64_t, ns since the epoch; 0: absent */
	SHAPE_BOOL,
	SHAPE_SIGNED, /* int or int64_t, as @size says; below 0: absent */
	SHAPE_NUMBER, /* uint64_t, a sum */
	SHAPE_VALUE, /* struct value */
	SHAPE_NUMBERS, /* a uint64_t for each metric in [@first, @end); the last may be a histogram.
			  The metric's kind says how it is joined */
	SHAPE_VALUES, /* the same as struct value, without a histogram */
	SHAPE_JOB_VALUES, /* struct value[METRIC_JOB_COUNT], a map for each section */
	SHAPE_METRICS, /* the same as one map of what is known, in stored units, by section and key
			*/
	SHAPE_MAP, /* a structure of @rows; left out if it is empty.  Without a key: its fields are
		      members of the map that this one is in */
	SHAPE_NAMED, /* a map of @size structures of @rows, by names[]; empty ones are left out */
	SHAPE_LIST, /* an owned pointer to @rows, followed by a size_t with their number */
	SHAPE_TUPLES, /* a list likewise, of lists of the fields' values; flat: all are one list */
	SHAPE_ARRAY, /* room for @rows->max of them, and likewise */
};

enum field_flag {
	SHAPE_KEY = 1, /* identifies a row, with the other keys */
	SHAPE_NEEDED = 2, /* parsing fails if it is missing: of metrics, a sum; of texts, also "" */
	SHAPE_PARTIAL = 4, /* of values: a sum is known if any part is, not only if all are */
	SHAPE_ALWAYS = 8, /* a map that is written if empty, too; an id that may be 0 */
	SHAPE_AS_EMPTY = 256, /* a map that is parsed as an empty one if it is missing */
	SHAPE_IF_KNOWN = 16, /* a map of a structure that begins with `bool is_known`, which decides
			      */
	SHAPE_FLAT = 32, /* a map on one line */
	SHAPE_OR_NULL = 64, /* 0 and "" are written as null, and a map that is not known */
	SHAPE_OMIT = 512, /* left out if 0, "", NULL, not known or without rows */
	SHAPE_ALONE = 128, /* a number that is not joined */
	SHAPE_IF_FIRST = 1024, /* of named rows: left out if their first number is 0 */
};

struct field {
	const char *key; /* numbers: the map that holds them, left out if all are 0; NULL: they are
			    members of the map itself, as named ones.  A list: NULL if it is the
			    whole value */
	enum field_kind kind;
	unsigned int flags;
	size_t offset;
	size_t size;
	enum metric_unit unit; /* of a number that is no metric's */
	enum metric_id first, end; /* of one number: @first goes to the hooks, if it is not 0; a
				      value has the unit of that metric */
	uint64_t most; /* limit of each parsed number; 0: VALUE_MAX */
	const struct shape *rows;
	const char *const *names;
};

struct shape {
	size_t size;
	const struct field *fields;
	size_t count;
	const void *blank; /* what a parsed one begins as; NULL: zeros */
	/* Checks of a parsed one beyond the table, and what follows from it.  -EINVAL, and the
	 * place's error. */
	int (*check)(const struct place *place, void *of);
	/* Whether a metric's number is known: @row is the one of this shape, @root the outermost
	 * structure.  NULL: it is. */
	bool (*knows)(const void *root, const void *row, enum metric_id id);
	/* It was missing when parsed, or null.  True: it may be, and is not known from now on. */
	bool (*lacks)(void *root, void *row, enum metric_id id);
	/* Of rows. */
	bool is_flat; /* one line each */
	size_t max;
	bool is_strict; /* nothing else is in it, and no null */
	bool has_other; /* further rows are added up in one more, whose texts are all SHAPE_OTHER;
			   else in the last */
	int (*order)(const void *a, const void *b); /* NULL: in order of arrival */
	/* Before the numbers of @from are added to those of @to; may be NULL. */
	void (*join)(void *to, const void *from);
};
#define SHAPE_OTHER "(other)"
#define SHAPE_OF(type, table) .size = sizeof(type), .fields = (table), .count = ARRAY_SIZE(table)

void shape_clear(const struct shape *s, void *of);
bool shape_is_empty(const struct shape *s, const void *of); /* no row, and no sum above 0 */
/* Add @from, or raise each number to at least that of @from; rows by their keys.  -ENOMEM. */
int shape_join(const struct shape *s, bool is_raised, void *to, const void *from);
/* Leave the difference to @earlier: unchanged rows are removed, and peaks that did not rise become
 * unknown.  False: a number fell, and is 0 now, or a row is gone. */
bool shape_subtract(const struct shape *s, void *later, const void *earlier);
/* As the members of a map, or as a list. */
void shape_format(const struct shape *s, const void *of, struct document *d);
int shape_parse(const struct shape *s, const struct place *place, const json_t *json, void *ret);
/* A member of the map that it is has that key. */
bool shape_has_key(const struct shape *s, const char *key);

/* ---- structures with a list ---- */

/* The row with the keys of @like, or NULL. */
void *shape_find(const struct shape *s, const void *of, const void *like);
/* The same; if there is none, a copy of @like is added, or in a full list the row of the others is
 * used.  Valid until the next call.  NULL: no memory. */
void *shape_row(const struct shape *s, void *of, const void *like);
/* Add a row to the one with its keys, or to the list.  -ENOMEM. */
int shape_add_row(const struct shape *s, void *of, const void *row);
/* Add a copy of @row, whose keys no other has, whatever the list's limit; valid until the next
 * call.  NULL: no memory. */
void *shape_append(const struct shape *s, void *of, const void *row);
void shape_sort(const struct shape *s, void *of);
/* Row @i, or NULL at the end. */
const void *shape_at(const struct shape *s, const void *of, size_t i);

/* A metric's number in a row; whether any number of its field is above 0; its total over all rows.
 */
struct value shape_number(const struct shape *s, const void *row, enum metric_id id);
bool shape_has(const struct shape *s, const void *row, enum metric_id id);
struct value shape_total(const struct shape *s, const void *of, enum metric_id id);
/* A row's keys as one text: "mpi-io/MPI_File_open". */
#define SHAPE_NAME_SIZE 160
const char *shape_name(const struct shape *s, const void *row, char ret[SHAPE_NAME_SIZE]);
