/* SPDX-License-Identifier: MIT */
/* made - records that no machine measured, for tests. */
#pragma once

#include <stdio.h>

#include "model/document.h"
#include "model/record.h"
#include "codec/record_format.h"

struct error;

/* A full record: two mounts, a pipe, known accounting.  @rank names node, CPUs and some of the
 * numbers: two ranks a node with two cores each.  Never NULL. */
struct record *made_record(int rank);

/* The record as JSON; the caller frees. */
char *made_json(const struct record *record);

/* The record that this JSON is; NULL: none, and *err says why (it may be NULL).  The caller frees.
 */
struct record *made_again(const char *json, struct error *err);

/* The record as CSV with a header; the caller frees. */
char *made_csv(const struct record *record, enum record_rows rows);

/* What a test writes to a stream or into a document; begins as {}. */
struct made_text {
	char *text;
	size_t size;
	FILE *out;
	struct document *document;
};

FILE *made_text_stream(struct made_text *t);
struct document *made_text_document(struct made_text *t, enum document_style style);

/* The text, and the document's end, which must succeed.  The caller frees. */
char *made_text_end(struct made_text *t);
