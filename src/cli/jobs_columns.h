/* SPDX-License-Identifier: MIT */
/*
 * jobs_columns - the columns of `jobs`: one table for the page, CSV and -o.
 *
 * A row is a map as reader_list_jobs() gives it, with what jobs_complete() adds.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "basic/humanize.h"
#include "model/rows.h"

struct error;
struct output;

enum jobs_kind {
	JOBS_TEXT,
	JOBS_MOMENT, /* a text as RFC 3339 has it */
	JOBS_COUNT,
	JOBS_BYTES,
	JOBS_SECONDS,
	JOBS_CORES,
	JOBS_SHARE,
	JOBS_HOURS, /* of cores, or of GiB */
	JOBS_ENERGY, /* with "~" where any of it is an estimate */
	JOBS_GRAMS, /* likewise */
	JOBS_MONEY, /* likewise, with the row's currency */
};

struct jobs_column {
	const char *name, *head; /* name: of -o, in small letters, and in CSV */
	enum jobs_kind kind;
	const char *key, *plus; /* the row's members of which it is the sum; plus: NULL: key alone
				 */
	const char *sacct[3]; /* what else -o takes it by, NULL-padded */
	unsigned int rank, least; /* as a rows_column has them */
};

#define JOBS_COLUMNS_DEFAULT "id,user,name,state,elapsed,nodes,cpu,memory,read,written,reason"
#define JOBS_SUMS_DEFAULT \
	"jobs,core_time,cpu_time,read,written,energy,energy_rate" /* behind what they are by */
/* Of a row of sums: what its energy per core-hour is made of. */
#define JOBS_RATED_JOULES STORE_RATED_JOULES
#define JOBS_RATED_CORE_SECONDS STORE_RATED_CORE_SECONDS

struct jobs_columns {
	struct jobs_column items[ROWS_COLUMNS_MAX]; /* copies */
	size_t count;
};

/* The columns of -o, with commas between, into the struct jobs_columns at @at: their names in any
 * case, sacct's ("JobID", "MaxRSS%20"), or a number's as the JSON has it ("cpu.user_seconds").
 * -EINVAL: *err names what is none. */
int jobs_columns_parse(const char *text, void *at, struct error *err);

/* The @i-th of their names, as a cli_option gives its words. */
const char *jobs_columns_word(const void *target, size_t i);

/* Adds to the row how much of what was allocated was used, by the arithmetic of a report, its core
 * time, how much of that was unused, and its energy for a core-hour; without memory nothing. */
void jobs_complete(json_t *row);
/* Of a row of sums the last of these alone, by its rated numbers, which go, and its unused core
 * time as a share. */
void jobs_complete_energy(json_t *row);

/* A column of text, as "user" or "reason", into the struct jobs_column at @at.  -EINVAL: *err names
 * what is none. */
int jobs_column_parse_text(const char *text, void *at, struct error *err);

/* As people read it; @buffer holds what is no text of the row.  "-": not known. */
const char *jobs_cell_text(const struct jobs_column *column, const json_t *row,
			   struct human *buffer);

/* In base units, roughly.  False: not known. */
bool jobs_cell_number(const struct jobs_column *column, const json_t *row, double *ret);

/* In base units, as CSV has it; nothing where it is not known. */
void jobs_cell_csv(const struct jobs_column *column, const json_t *row, FILE *out);

/* A row of the table for each of @rows. */
void jobs_columns_fill(const struct jobs_columns *columns, const json_t *rows,
		       struct rows_table *table);

/* Rows of jobs, or of sums over them, as `jobs` and `usage` write them: as a table, as CSV, or as a
 * document with all that the rows have. */
struct jobs_table {
	struct jobs_columns columns;
	const json_t *rows; /* the caller's */
	bool has_no_legend;
	bool has_standard_columns; /* not chosen: some are dropped on a narrow terminal */
	const char *schema, *list; /* of the document, and its member with the rows */
	const char *by; /* a member of its own; NULL: there is none */
};

/* An output_writer of a struct jobs_table. */
int jobs_table_write(const struct output *output, const void *what, FILE *out, struct error *err);
