/* SPDX-License-Identifier: MIT */
/* record_format - a record as a document (jobmeter.record/1, docs/internals/record.md) or as rows
 * of CSV. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct document;
struct record;

/* Write @record as one map; document_finish() is the caller's. */
void record_format(const struct record *record, struct document *d);

/* The same with further keys behind its own, which @format_more writes: what others conclude from
 * it. */
void record_format_with(const struct record *record,
			void (*format_more)(const void *context, struct document *d),
			const void *context, struct document *d);

enum record_rows {
	ROWS_RECORD, /* one row a record: scalar fields, metrics, and the mounts' sums */
	ROWS_MOUNT, /* one row a mount; none for a record without mounts */
	ROWS_SOCKET, /* one row a kind of socket that was used; none where that is not known */
	ROWS_SYSCALL, /* one row a name of a system call; none for a record without them */
	ROWS_DEVICE, /* one row a block device; the same */
	ROWS_FUNCTION, /* one row a traced function; none for a record without a trace */
	ROWS_GPU, /* one row a GPU that the job held */
};

/* RFC 4180, with "\n" ends of lines.  What is not known is empty.  Errors stay with @out (ferror).
 */
void record_format_csv_header(enum record_rows rows, FILE *out);
void record_format_csv(const struct record *record, enum record_rows rows, FILE *out);
