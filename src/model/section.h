/* SPDX-License-Identifier: MIT */
/*
 * section - a structured part of a record, such as `network` or `ports`, of a type of its own.
 *
 * Each has a file in sections/ and a line in sections[], which is all that knows it: the record,
 * its merging, difference and texts walk the table, and so does who keeps the sections of jobs
 * until they are records (see parts.h).  Who needs one by its type takes the record's member, or,
 * of those that have none, what its own header gives.
 *
 * A section of which all bytes are zero is not known, owns nothing and can be cleared.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/counted.h"
#include "model/metric.h"

struct document;
struct error;
struct place;
struct record;
struct shape;
struct strings;
struct value;

/* A section's numbers as a table: a row a thing, a column a metric, of which histograms are left
 * out. */
struct section_table {
	const char *label; /* of things: "device" */
	enum metric_id first, end;
	bool has_sums; /* over all things, for a record's own row */
	/* Absent: the things are the rows of the section's shape. */
	/* Name of the @i-th; NULL: there are no more. */
	const char *(*thing)(const void *section, size_t i);
	/* Of a thing, by its name, or NULL: the sum over all.  False: not known. */
	bool (*number)(const void *section, const char *thing, enum metric_id id, uint64_t *ret);
};

struct section {
	const char *name; /* its key in the record; "memory.oom": within that map */
	size_t size;
	size_t offset; /* in struct record; 0: it stands behind the record's members */
	unsigned int counted; /* COUNTED_... of cgroups that it is made of; COUNTED_BY_SOURCE: a
				 source adds to it; 0: neither */
	bool is_of_steps; /* kept of each step of a job, too, up to the snapshot: struct step has
			     members of its own */
	bool is_partial; /* it is of what somebody looked at: a sum is known where any part is */
	bool is_on_demand; /* no feed and no snapshot has it: kept of cgroups that ended, and of
			      live ones read as a record is made */

	/* What it holds, where it begins with `bool is_known`: then each of the following that is
	 * absent walks it.  NULL: section_add() and the like need theirs. */
	const struct shape *shape;

	bool (*is_known)(const void *section); /* absent: it begins with `bool is_known` */
	/* Make an empty one known, as far as @counted has it, with nothing in it: to this all is
	 * added.  NULL: nothing but its bytes is to be copied. -ENOMEM. */
	int (*begin)(void *ret, unsigned int counted);
	void (*clear)(void *section); /* it is not known from then on; NULL: it owns nothing */
	/* The one that all share who have nothing but what is known of it; NULL: there is something
	 * in it.  May be absent. */
	const void *(*idle)(const void *section);

	/* Cgroups into a job, ranks and nodes into one: known where both are (is_partial: where
	 * either is).  Absent:
	 * record_merge() does it, which knows all records.  -ENOMEM. */
	int (*add)(void *sum, const void *part);
	/* Both known: no number is less than that of @least.  Needed, as begin() and add(), where
	 * @counted is not 0, but on demand.  -ENOMEM. */
	int (*raise)(void *to, const void *least);
	/* Leave what came after @earlier; what fell meanwhile is not known, and stands in @notes.
	 * Absent: it is of the whole life, and not known of a part of it.  -ENOMEM. */
	int (*subtract)(void *later, const void *earlier, struct strings *notes);

	/* Nothing of the one differs from the other.  Absent: nobody asks that of it, and it counts
	 * as another. */
	bool (*is_same)(const void *a, const void *b);

	/* The value of its key, of one that is known, as JSON or YAML.  Absent: a map of the
	 * record's fields (record_field.h). */
	void (*format)(const void *section, struct document *d);
	json_type type; /* of what parse() takes */
	/* Into an empty one.  -EINVAL: the place's error says why; -ENOMEM. */
	int (*parse)(const struct place *place, const json_t *json, void *ret);
	const struct section_table *table; /* for CSV; NULL: it is none */
};

/* In the order in which they stand in a record. */
extern const struct section *const sections[];
extern const size_t section_count;

/* It is known of those jobs only to which a source has added, if ever so little. */
static inline bool section_is_by_source(const struct section *s)
{
	return s->counted & COUNTED_BY_SOURCE;
}

bool section_is_known(const struct section *s, const void *section);
/* As the call-backs of their names, which may be absent where there is a shape. */
int section_begin(const struct section *s, void *ret, unsigned int counted);
const void *section_idle(const struct section *s, const void *section);
int section_add(const struct section *s, void *sum, const void *part);
int section_raise(const struct section *s, void *to, const void *least);
int section_subtract(const struct section *s, void *later, const void *earlier,
		     struct strings *notes);
void section_format(const struct section *s, const void *section, struct document *d);

/* The same of its table: the @i-th thing, or NULL; its name; and its number, or the sum over all.
 */
#define SECTION_THING_SIZE 160
const void *section_thing(const struct section *s, const void *section, size_t i);
const char *section_thing_name(const struct section *s, const void *thing,
			       char ret[SECTION_THING_SIZE]);
struct value section_number(const struct section *s, const void *section, const void *thing,
			    enum metric_id id);

/* NULL: none of that name. */
const struct section *section_find(const char *name);
void section_clear(const struct section *s, void *section);
/* One of its own that section_begin() made, and its end; NULL: no memory, and is fine. */
void *section_new(const struct section *s, unsigned int counted);
void section_free(const struct section *s, void *section);
/* Replace @to, which may be empty.  -ENOMEM: it is empty. */
int section_copy(const struct section *s, void *to, const void *from);
/* Parse the member of @map that has its name, or the last part of that; there may be none. */
int section_take(const struct section *s, const struct place *place, const json_t *map, void *ret);
/* Its key in the map in which it stands: "oom" of "memory.oom". */
const char *section_key(const struct section *s);

/* A note that something fell meanwhile; one too many is left out: a full list says enough. -ENOMEM.
 */
int section_note_fallen(struct strings *notes, const char *what);

/* ---- of records ---- */

/* What a record takes with those sections that stand behind it. */
size_t section_record_size(void);
void *section_of(struct record *r, const struct section *s);
const void *section_get(const struct record *r, const struct section *s);
