/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/csv.h"
#include "model/document_backend.h"

#define DEPTH_OF_LIST 2 /* a map, and in it the list */
#define DEPTH_OF_ROW 3

struct csv {
	struct document document;
	FILE *out;
	const char *list;
	bool is_list; /* the key that came last at the top is the list's */
	unsigned int depth;
	size_t cells; /* of this row */
};

static struct csv *csv_of(struct document *d)
{
	return (struct csv *)(void *)d;
}

/* Whether a value is a cell; then what stands before it is written. */
static bool begin_cell(struct csv *csv)
{
	if (!csv->is_list || csv->depth != DEPTH_OF_ROW)
		return false;
	if (csv->cells++)
		fputc_unlocked(',', csv->out);
	return true;
}

static void csv_begin(struct document *d, enum nesting nesting, bool is_flat)
{
	struct csv *csv = csv_of(d);

	(void)nesting, (void)is_flat;
	if (++csv->depth == DEPTH_OF_ROW)
		csv->cells = 0;
}

static void csv_end(struct document *d, enum nesting nesting)
{
	struct csv *csv = csv_of(d);

	if (csv->is_list && csv->depth == DEPTH_OF_ROW && nesting == NESTING_MAP)
		fputc_unlocked('\n', csv->out);
	if (csv->depth-- == DEPTH_OF_LIST)
		csv->is_list = false;
}

static void csv_key(struct document *d, const char *key)
{
	struct csv *csv = csv_of(d);

	if (csv->depth == DEPTH_OF_LIST - 1)
		csv->is_list = strcmp(key, csv->list) == 0;
}

static void csv_string(struct document *d, const char *text)
{
	if (begin_cell(csv_of(d)))
		csv_put(text, csv_of(d)->out);
}

static void csv_literal(struct document *d, const char *text)
{
	if (begin_cell(csv_of(d)) && strcmp(text, "null") != 0)
		fputs_unlocked(text, csv_of(d)->out);
}

static int csv_finish(struct document *d)
{
	errno = 0;
	if (fflush(csv_of(d)->out) != 0 || ferror(csv_of(d)->out))
		return errno ? -errno : -EIO;
	return 0;
}

static void csv_free(struct document *d)
{
	free(csv_of(d));
}

struct document *document_new_csv(FILE *out, const char *list)
{
	static const struct document_backend backend = {
		.begin = csv_begin,
		.end = csv_end,
		.key = csv_key,
		.string = csv_string,
		.literal = csv_literal,
		.finish = csv_finish,
		.free = csv_free,
	};
	struct csv *csv = calloc(1, sizeof(*csv));

	if (!csv)
		return NULL;
	csv->document.backend = &backend;
	csv->out = out;
	csv->list = list;
	return &csv->document;
}
