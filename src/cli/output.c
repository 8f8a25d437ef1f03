/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "document.h"
#include "error.h"
#include "guess.h"
#include "macro.h"
#include "page.h"
#include "record_format.h"
#include "records.h"
#include "replacement.h"
#include "report.h"

static const struct format {
	const char *name;
	enum output_format format;
	const char *endings[2];
} formats[] = {
	{ "text", OUTPUT_TEXT, { ".txt" } },
	{ "json", OUTPUT_JSON, { ".json" } },
	{ "ndjson", OUTPUT_NDJSON, { ".ndjson", ".jsonl" } },
	{ "csv", OUTPUT_CSV, { ".csv" } },
	{ "yaml", OUTPUT_YAML, { ".yaml", ".yml" } },
};

static int parse_format(const char *text, void *at, struct error *err)
{
	const char *guess;

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (strcmp(formats[i].name, text) == 0) {
			*(enum output_format *)at = formats[i].format;
			return 0;
		}
	}
	guess = guess_nearest(text, &formats[0].name, ARRAY_SIZE(formats), sizeof(formats[0]));
	if (guess)
		return error_set(err, -EINVAL, "there is no format '%s'; did you mean '%s'?", text, guess);
	return error_set(err, -EINVAL, "there is no format '%s'; there are text, json, ndjson, csv, yaml", text);
}

static int parse_by(const char *text, void *at, struct error *err)
{
	if (strcmp(text, "mount") != 0)
		return error_set(err, -EINVAL, "rows can be by 'mount', and not by '%s'", text);
	*(bool *)at = true;
	return 0;
}

#define AT(member) offsetof(struct output, member)
/* clang-format off */
const struct cli_option output_options[] = {
	{ "format", 'f', "FORMAT", "text, json, ndjson, csv or yaml", AT(format), parse_format },
	{ "json", 0, NULL, "the same as --format json", AT(is_json), NULL },
	{ "output", 0, "FILE", "write to FILE; its ending gives the format if --format does not", AT(file), NULL },
	{ "quiet", 'q', NULL, "no report for people", AT(is_quiet), NULL },
	{ "by", 0, "mount", "in CSV: a row a mount, not a row a record", AT(is_by_mount), parse_by },
};
/* clang-format on */
const size_t output_option_count = ARRAY_SIZE(output_options);
const size_t output_document_option_count = ARRAY_SIZE(output_options) - 1;

static enum output_format format_of_ending(const char *file)
{
	const char *dot = strrchr(file, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(formats); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(formats[i].endings) && formats[i].endings[j]; j++) {
			if (strcmp(formats[i].endings[j], dot) == 0)
				return formats[i].format;
		}
	}
	return OUTPUT_UNSET;
}

int output_settle(struct output *output, struct error *err)
{
	if (output->is_json && output->format != OUTPUT_UNSET && output->format != OUTPUT_JSON)
		return error_set(err, -EINVAL, "'--json' and another '--format' exclude each other");
	if (output->is_json)
		output->format = OUTPUT_JSON;
	if (output->format == OUTPUT_UNSET && output->file)
		output->format = format_of_ending(output->file);
	if (output->format == OUTPUT_UNSET && output->is_by_mount)
		output->format = OUTPUT_CSV;
	if (output->format == OUTPUT_UNSET && output->file)
		return error_set(err, -EINVAL, "the ending of '%s' tells no format; say '--format'",
				 output->file);
	if (output->format == OUTPUT_UNSET)
		output->format = OUTPUT_TEXT;
	if (output->is_by_mount && output->format != OUTPUT_CSV)
		return error_set(err, -EINVAL, "'--by mount' is for '--format csv'");
	return 0;
}

int output_check(const struct output *output, struct error *err)
{
	return output->file ? replacement_check(output->file, err) : 0;
}

struct document *output_new_document(const struct output *output, FILE *out)
{
	if (output->format == OUTPUT_YAML)
		return document_new_yaml(out);
	return document_new_json(out,
				 output->format == OUTPUT_NDJSON ? DOCUMENT_ONE_LINE : DOCUMENT_INDENTED);
}

static int write_document(const struct output *output, const struct record *record, FILE *out)
{
	_cleanup_(document_freep) struct document *d = output_new_document(output, out);

	if (!d)
		return -ENOMEM;
	record_format(record, d);
	return document_finish(d);
}

static int write_csv(const struct output *output, const struct records *records, FILE *out)
{
	enum record_rows rows = output->is_by_mount ? ROWS_MOUNT : ROWS_RECORD;

	record_format_csv_header(rows, out);
	for (size_t i = 0; i < records->count; i++)
		record_format_csv(records->items[i], rows, out);
	errno = 0;
	if (fflush(out) != 0 || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}

int output_write(const struct output *output, const struct records *records, FILE *out)
{
	assert(output->format > OUTPUT_TEXT);
	if (output->format == OUTPUT_CSV)
		return write_csv(output, records, out);
	for (size_t i = 0; i < records->count; i++) {
		int r;

		if (output->format == OUTPUT_YAML && i > 0)
			fputs("---\n", out);
		r = write_document(output, records->items[i], out);
		if (r < 0)
			return r;
	}
	return 0;
}

int output_save_by(const struct output *output,
		   int (*write)(const struct output *output, const void *what, FILE *out, struct error *err),
		   const void *what, struct error *err)
{
	_cleanup_(replacement_abandon) struct replacement file = {};
	int r = replacement_open(output->file, 0666, &file, err);

	if (r < 0)
		return r;
	r = write(output, what, file.stream, err);
	return r < 0 ? r : replacement_commit(&file, err);
}

static int write_file(const struct output *output, const void *what, FILE *out, struct error *err)
{
	const struct records *records = what;
	int r;

	if (output->format == OUTPUT_TEXT) {
		struct page page = page_for(out);

		return report_print(records, &page, err);
	}
	r = output_write(output, records, out);
	return r < 0 ? error_set_errno(err, r, "cannot write '%s'", output->file) : 0;
}

int output_save(const struct output *output, const struct records *records, struct error *err)
{
	return output_save_by(output, write_file, records, err);
}
