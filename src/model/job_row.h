/* SPDX-License-Identifier: MIT */
/*
 * job_row - one job as it stands in a list, whatever the list was made from: a site's database, or
 * records in files.
 *
 * A row holds no structured part of a record: who and what the job was, and its scalar numbers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/reading.h" /* struct value */

struct document;
struct record;

/* Those of a job, and behind them sums over its mounts and its sockets. */
#define JOB_ROW_VALUES METRIC_NETWORK_END
#define JOB_ROW_KEY_SIZE 64

struct job_row { /* strings are owned; NULL: not known */
	char *cluster, *node; /* node: NULL also where it ran on several */
	char *manager, *id, *name, *user, *account, *partition, *state;
	char *reason; /* one word of why it was not better: a class, or what stands out */
	int64_t uid; /* -1: not known */
	bool is_final; /* false: it runs, and this is from its last checkpoint */
	uint64_t start_ns, end_ns; /* since the epoch; 0: not known, or not yet */
	uint64_t elapsed_ns;
	unsigned int nodes;
	struct value values[JOB_ROW_VALUES]; /* by enum metric_id */
};

struct job_rows { /* begins as {} */
	struct job_row *items;
	size_t count;
};

#define JOB_ROW_EMPTY ((struct job_row){ .uid = -1, .nodes = 1 })

void job_row_clear(struct job_row *row);
void job_rows_clear(struct job_rows *rows);
/* Its strings are taken over, on success only.  -ENOMEM. */
int job_rows_add(struct job_rows *rows, struct job_row *row);
/* The newest start first. */
void job_rows_sort(struct job_rows *rows);

/* The strings, as lists of jobs in JSON name them. */
struct job_row_text {
	const char *key;
	size_t offset; /* of the char * in a row */
};
extern const struct job_row_text job_row_texts[];
extern const size_t job_row_text_count;
char **job_row_text(const struct job_row_text *text, struct job_row *row);
const char *job_row_text_get(const struct job_row_text *text, const struct job_row *row);

/* "cpu.user_seconds", "io.read.bytes": what the list calls a number; NULL: it has none such. */
const char *job_row_key(enum metric_id id, char buffer[JOB_ROW_KEY_SIZE]);

/* A row of @record, which may be merged over nodes; the caller clears it.  -ENOMEM. */
int job_row_of_record(const struct record *record, struct job_row *ret);

/* As much of a record as a row holds, for arithmetic on records; the caller frees.  NULL: no
 * memory. */
struct record *job_row_record(const struct job_row *row);

/* Its members, within a map that the caller begins and ends. */
void job_row_format(const struct job_row *row, struct document *d);
