/* SPDX-License-Identifier: MIT */
/*
 * record_field - the table of what a record says besides its metrics.
 *
 * Freeing, merging, writing, reading and CSV's columns walk it; nobody lists the fields a second
 * time.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/record.h"
#include "model/section.h"

struct document;
struct place;

enum field_type {
	FIELD_STRING, /* char *, NULL: absent */
	FIELD_COMMAND, /* char **, NULL-ended */
	FIELD_STRINGS, /* struct strings */
	FIELD_BOOL,
	FIELD_U64,
	FIELD_INT, /* int; one number stands for absent */
	FIELD_INT64, /* the same as int64_t */
	FIELD_TIME, /* uint64_t ns since the epoch, 0: absent */
	FIELD_SECONDS, /* uint64_t ns; one number stands for absent */
	FIELD_COUNT, /* struct value */
	FIELD_DURATION, /* struct value, ns */
	FIELD_CELSIUS, /* struct value, in thousandths */
	FIELD_SHARE, /* struct value, times 10^LOAD_BALANCE_PLACES */
};

struct record_field {
	const char *section; /* "": at the top */
	const char *key;
	enum field_type type;
	size_t offset;
	int absent; /* of FIELD_INT, FIELD_INT64 and FIELD_SECONDS (-1: it is always known) */
	bool is_identity; /* stands in each row of CSV by mount too */
	const char *help;
	/* Of a fact of a job, which the meter knows before there is a record. */
	size_t in_job; /* offset in struct job, there of the same type; 0: it has none */
	unsigned int fact; /* FACT_... */
};

enum {
	FACT_PROLOG = 1, /* the prolog's file may say it */
	FACT_STATE = 2, /* kept over a restart of the agent */
	FACT_LIST = 4, /* in the agent's list of jobs */
	FACT_COLUMN = 8, /* a column of its own in the server's table of jobs: a text or a number */
};

extern const struct record_field record_fields[];
extern const size_t record_field_count;

/* The record's members in the order in which they are written: maps of metrics and fields,
 * sections, and where those of sections[] stand that are not named, in its order. */
#define RECORD_SECTIONS_REST "*"
extern const char *const record_sections[];
extern const size_t record_section_count;

/* It is among them by its name, or within one that is. */
bool record_section_is_placed(const struct section *section);

/* Whether the section is a map with the metrics and fields of its name. */
bool record_section_is_plain(const char *section);

struct job;
/* Where a fact stands in @job, of which only that may be changed; NULL: it has none. */
void *record_field_in_job(const struct record_field *field, const struct job *job);

/* Where the field stands in @record, to be cast as its type says. */
void *record_field_ref(const struct record_field *field, struct record *record);
const void *record_field_get(const struct record_field *field, const struct record *record);

/* Write the member of the field's key, which stands at @offset in @of, or take it from @map: a
 * field of any type but FIELD_COMMAND, FIELD_STRINGS and FIELD_SHARE. */
void record_field_format(const struct record_field *field, size_t offset, const void *of,
			 struct document *d);
int record_field_parse(const struct record_field *field, const struct place *place,
		       const json_t *map, struct record *ret);

/* Digits behind the point of a FIELD_SECONDS, FIELD_COUNT, FIELD_DURATION, FIELD_CELSIUS or
 * FIELD_SHARE. */
unsigned int record_field_places(const struct record_field *field);

/* The time of a FIELD_SECONDS. */
struct value record_field_seconds(const struct record_field *field, const struct record *record);
/* The number of a FIELD_INT or FIELD_INT64; false: absent. */
bool record_field_number(const struct record_field *field, const struct record *record,
			 int64_t *ret);
