/* SPDX-License-Identifier: MIT */
/*
 * output - how and where records go out: the options that all commands share, and the formats.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "basic/cli.h"
#include "codec/record_format.h"

struct document;
struct error;
struct records;
struct rules;
struct page;

enum output_format {
	OUTPUT_UNSET,
	OUTPUT_TEXT,
	OUTPUT_JSON,
	OUTPUT_NDJSON, /* a record a line */
	OUTPUT_CSV,
	OUTPUT_YAML,
	OUTPUT_MARKDOWN,
	OUTPUT_HTML,
};

struct output { /* begins as {}; filled by cli_parse() */
	enum output_format format;
	const char *file; /* NULL: stdout */
	bool is_json; /* --json was given */
	bool is_quiet;
	bool is_full; /* of a report all there is, not the first screen */
	bool must_be_new; /* the file: -EEXIST where there is one when it is written */
	enum record_rows rows; /* in CSV */
	bool has_markdown, has_html; /* set before parsing: there is such a form of it */
	const char *no_csv; /* set before parsing: why there is no table of it, or NULL */
	const struct rules *rules; /* set before writing records: what is concluded from them */
};

extern const struct cli_option output_options[];
extern const size_t output_option_count;
/* How many of the first options suit a document that is no record. */
extern const size_t output_document_option_count;

/* After parsing: find the format that the options or the file's ending mean (without any: text),
 * and whether they agree.  The file "-" is stdout.  -EINVAL: they do not. */
int output_settle(struct output *output, struct error *err);

/* Whether the file can be written; to be asked before a long run.  Without a file: 0. */
int output_check(const struct output *output, struct error *err);

/* A new document in the format, which is one (JSON, NDJSON, YAML).  NULL: no memory. */
struct document *output_new_document(const struct output *output, FILE *out);

/* Whether the format is one that several records are merged for. */
bool output_is_of_one(const struct output *output);

/* Write the records in a format other than text; several as one document behind the other. */
int output_write(const struct output *output, const struct records *records, FILE *out);

/* Write the file in the format, text included: whole, or not at all. */
int output_save(const struct output *output, const struct records *records, struct error *err);

/* Writes @what in the format, text included; it fills @err. */
typedef int (*output_writer)(const struct output *output, const void *what, FILE *out,
			     struct error *err);

/* The last that a writer does: @r, or -Exxx where not all of it gets out; "cannot write the @what".
 */
int output_end(FILE *out, int r, const char *what, struct error *err);

/* The same for what @write writes. */
int output_save_by(const struct output *output, output_writer write, const void *what,
		   struct error *err);

/* To stdout, or to the file; then a text for people still appears unless that is unwanted. */
int output_print_by(const struct output *output, output_writer write, const void *what,
		    struct error *err);

/* One record with what changed since the last local run of its command; several merged, and if they
 * are few each on a line; with what @rules say.  There must be one at least. */
int report_print(const struct records *records, const struct rules *rules, struct page *page,
		 struct error *err);
