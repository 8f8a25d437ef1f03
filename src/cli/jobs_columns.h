/* SPDX-License-Identifier: MIT */
/* jobs_columns - what stands in a row of `jobs`: one table for the page, CSV, help and -o. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "basic/humanize.h"
#include "model/job_row.h"

struct error;

enum jobs_kind {
	JOBS_TEXT,
	JOBS_COUNT,
	JOBS_BYTES,
	JOBS_TIME, /* ns */
	JOBS_MOMENT, /* ns since the epoch */
	JOBS_CORES, /* in thousandths */
	JOBS_SHARE, /* in ten-thousandths */
	JOBS_METRIC, /* as its metric's unit says */
};

struct jobs_cell { /* text: the row's */
	bool is_known;
	const char *text;
	uint64_t number;
};

struct jobs_column {
	const char *name; /* of -o, in small letters, and in CSV */
	const char *others; /* what else -o takes it by, with blanks between: sacct's names */
	const char *head;
	enum jobs_kind kind;
	unsigned int rank; /* on a narrow terminal the highest goes first; 0: none does */
	const char *help;
	struct jobs_cell (*get)(const struct job_row *row); /* NULL: the metric's number */
	enum metric_id metric;
};

#define JOBS_COLUMNS_MAX 64
#define JOBS_COLUMNS_DEFAULT "id,user,name,state,elapsed,nodes,cpu,memory,read,written,reason"

struct jobs_columns {
	struct jobs_column items[JOBS_COLUMNS_MAX]; /* copies */
	size_t count;
};

/* The columns of -o, with commas between: their names in any case, sacct's ("JobID", "MaxRSS%20"),
 * or a number's as the JSON has it ("cpu.user_seconds").  -EINVAL: *err names what is none. */
int jobs_columns_parse(const char *text, struct jobs_columns *ret, struct error *err);

/* The @i-th name there is, and what it is; NULL behind the last. */
const struct jobs_column *jobs_columns_at(size_t i);

/* "ELAPSED"; a number's as the JSON has it, in @buffer. */
const char *jobs_column_head(const struct jobs_column *column, char buffer[JOB_ROW_KEY_SIZE]);
/* "elapsed"; the same. */
const char *jobs_column_name(const struct jobs_column *column, char buffer[JOB_ROW_KEY_SIZE]);

struct jobs_cell jobs_cell(const struct jobs_column *column, const struct job_row *row);

/* As people read it; @buffer holds what is no text of the row.  "-": not known. */
const char *jobs_cell_text(const struct jobs_column *column, const struct jobs_cell *cell,
			   struct human *buffer);

/* In base units, as CSV has it; nothing where it is not known. */
void jobs_cell_csv(const struct jobs_column *column, const struct jobs_cell *cell, FILE *out);

/* Of a row: used of what was allocated, in ten-thousandths. */
struct jobs_cell jobs_cpu_efficiency(const struct job_row *row);
struct jobs_cell jobs_memory_efficiency(const struct job_row *row);
