/* SPDX-License-Identifier: MIT */
#include "cli/output.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "basic/guess.h"
#include "report/html_report.h"
#include "basic/macro.h"
#include "report/page.h"
#include "codec/record_format.h"
#include "codec/records.h"
#include "basic/replacement.h"
#include "report/reports.h"
#include "cli/runs.h"

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
	{ "markdown", OUTPUT_MARKDOWN, { ".md" } },
	{ "html", OUTPUT_HTML, { ".html", ".htm" } },
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
		return error_set(err, -EINVAL, "there is no format '%s'; did you mean '%s'?", text,
				 guess);
	return error_set(
		err, -EINVAL,
		"there is no format '%s'; there are text, json, ndjson, csv, yaml, markdown, html",
		text);
}

static const struct {
	const char *word;
	enum record_rows rows;
} row_words[] = { { "mount", ROWS_MOUNT },   { "device", ROWS_DEVICE },
		  { "socket", ROWS_SOCKET }, { "function", ROWS_FUNCTION },
		  { "gpu", ROWS_GPU },	     { "syscall", ROWS_SYSCALL } };

static int parse_by(const char *text, void *at, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(row_words); i++) {
		if (strcmp(row_words[i].word, text) == 0) {
			*(enum record_rows *)at = row_words[i].rows;
			return 0;
		}
	}
	return error_set(err, -EINVAL,
			 "'--by' is mount, device, socket, syscall, function or gpu, not '%s'",
			 text);
}

static const char *word_of_rows(enum record_rows rows)
{
	size_t i = 0;

	while (row_words[i].rows != rows)
		i++;
	return row_words[i].word;
}

/* ---- the words that will do ---- */

static bool has_format(const struct output *output, enum output_format format)
{
	return (format != OUTPUT_MARKDOWN || output->has_markdown) &&
	       (format != OUTPUT_HTML || output->has_html) &&
	       (format != OUTPUT_CSV || !output->no_csv);
}

static const char *format_word(const void *target, size_t i)
{
	for (size_t j = 0; j < ARRAY_SIZE(formats); j++) {
		if (has_format(target, formats[j].format) && i-- == 0)
			return formats[j].name;
	}
	return NULL;
}

static const char *by_word(const void *target, size_t i)
{
	(void)target;
	return i < ARRAY_SIZE(row_words) ? row_words[i].word : NULL;
}

#define AT(member) offsetof(struct output, member)
/* clang-format off */
const struct cli_option output_options[] = {
	{ "format", 'f', "FORMAT", "the output format", AT(format), parse_format, format_word },
	{ "json", 0, NULL, "the same as --format json", AT(is_json), NULL },
	{ "output", 0, "FILE", "write to FILE; its ending gives the format if --format does not", AT(file), NULL },
	{ "quiet", 'q', NULL, "print no report", AT(is_quiet), NULL },
	{ "full", 0, NULL, "print everything, not only the first screen", AT(is_full), NULL },
	{ "by", 0, "WHAT", "in CSV: one row for each of these", AT(rows), parse_by, by_word },
};
/* clang-format on */
const size_t output_option_count = ARRAY_SIZE(output_options);
const size_t output_document_option_count = ARRAY_SIZE(output_options) - 2;

static enum output_format format_of_ending(const char *file)
{
	const char *dot = strrchr(file, '.');

	for (size_t i = 0; dot && i < ARRAY_SIZE(formats); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(formats[i].endings) && formats[i].endings[j];
		     j++) {
			if (strcmp(formats[i].endings[j], dot) == 0)
				return formats[i].format;
		}
	}
	return OUTPUT_UNSET;
}

int output_settle(struct output *output, struct error *err)
{
	if (output->file && strcmp(output->file, "-") == 0)
		output->file = NULL;
	if (output->is_json && output->format != OUTPUT_UNSET && output->format != OUTPUT_JSON)
		return error_set(err, -EINVAL,
				 "'--json' and another '--format' exclude each other");
	if (output->is_json)
		output->format = OUTPUT_JSON;
	if (output->format == OUTPUT_UNSET && output->file)
		output->format = format_of_ending(output->file);
	if (output->format == OUTPUT_UNSET && output->rows != ROWS_RECORD)
		output->format = OUTPUT_CSV;
	if (output->format == OUTPUT_UNSET && output->file)
		return error_set(err, -EINVAL,
				 "the ending of '%s' is no known format; add '--format'",
				 output->file);
	if (output->format == OUTPUT_UNSET)
		output->format = OUTPUT_TEXT;
	if (output->format == OUTPUT_MARKDOWN && !output->has_markdown)
		return error_set(err, -EINVAL, "this command has no markdown output");
	if (output->format == OUTPUT_HTML && !output->has_html)
		return error_set(err, -EINVAL, "this command has no html output");
	if (output->format == OUTPUT_CSV && output->no_csv)
		return error_set(err, -EINVAL, "%s", output->no_csv);
	if (output->rows != ROWS_RECORD && output->format != OUTPUT_CSV)
		return error_set(err, -EINVAL, "'--by %s' needs '--format csv'",
				 word_of_rows(output->rows));
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
	return document_new_json(out, output->format == OUTPUT_NDJSON ? DOCUMENT_ONE_LINE
								      : DOCUMENT_INDENTED);
}

static int write_document(const struct output *output, const struct record *record, FILE *out)
{
	_cleanup_(document_freep) struct document *d = output_new_document(output, out);
	int r;

	if (!d)
		return -ENOMEM;
	r = analysis_format_record(output->rules, record, d);
	return r < 0 ? r : document_finish(d);
}

static int write_csv(const struct output *output, const struct records *records, FILE *out)
{
	record_format_csv_header(output->rows, out);
	for (size_t i = 0; i < records->count; i++)
		record_format_csv(records->items[i], output->rows, out);
	errno = 0;
	if (fflush(out) != 0 || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}

static int write_page(const struct output *output, const struct record *record, FILE *out)
{
	_cleanup_(analysis_clear) struct analysis analysis = {};
	int r = analysis_make(output->rules, record, &analysis);

	if (r < 0)
		return r;
	if (output->format == OUTPUT_HTML)
		html_report(record, &analysis, out);
	else
		markdown_report(record, &analysis, out);
	errno = 0;
	if (fflush(out) != 0 || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}

static bool is_page(const struct output *output)
{
	return output->format == OUTPUT_HTML || output->format == OUTPUT_MARKDOWN;
}

bool output_is_of_one(const struct output *output)
{
	return output->format == OUTPUT_JSON || output->format == OUTPUT_YAML || is_page(output);
}

int output_write(const struct output *output, const struct records *records, FILE *out)
{
	int r = 0;

	if (output->format == OUTPUT_CSV)
		return write_csv(output, records, out);
	assert(output->rules);
	for (size_t i = 0; r == 0 && i < records->count; i++) {
		if (output->format == OUTPUT_YAML && i > 0)
			fputs("---\n", out);
		r = is_page(output) ? write_page(output, records->items[i], out)
				    : write_document(output, records->items[i], out);
	}
	return r;
}

int output_end(FILE *out, int r, const char *what, struct error *err)
{
	if (r == 0 && (fflush(out) != 0 || ferror(out)))
		r = errno ? -errno : -EIO;
	return r < 0 ? error_set_errno(err, r, "cannot write the %s", what) : 0;
}

int output_save_by(const struct output *output, output_writer write, const void *what,
		   struct error *err)
{
	_cleanup_(replacement_abandon) struct replacement file = {};
	int r = replacement_open(output->file, 0666, &file, err);

	if (r < 0)
		return r;
	file.must_be_new = output->must_be_new;
	r = write(output, what, file.stream, err);
	return r < 0 ? r : replacement_commit(&file, err);
}

int output_print_by(const struct output *output, output_writer write, const void *what,
		    struct error *err)
{
	static const struct output text = { .format = OUTPUT_TEXT };
	int r;

	if (!output->file)
		return output->format == OUTPUT_TEXT && output->is_quiet
			       ? 0
			       : write(output, what, stdout, err);
	r = output_save_by(output, write, what, err); /* first: who reads what is printed may have
							 gone */
	return r < 0 || output->is_quiet ? r : write(&text, what, stdout, err);
}

static int write_file(const struct output *output, const void *what, FILE *out, struct error *err)
{
	const struct records *records = what;
	int r;

	if (output->format == OUTPUT_TEXT) {
		struct page page = page_for(out);

		page.is_full = output->is_full;
		return report_print(records, output->rules, &page, err);
	}
	r = output_write(output, records, out);
	return r < 0 ? error_set_errno(err, r, "cannot write '%s'", output->file) : 0;
}

int output_save(const struct output *output, const struct records *records, struct error *err)
{
	return output_save_by(output, write_file, records, err);
}

static int print_merged(const struct records *records, const struct rules *rules, struct page *page,
			struct error *err)
{
	_cleanup_(record_freep) struct record *merged = NULL;
	int r = record_merge((const struct record *const *)records->items, records->count, &merged);

	if (r >= 0)
		r = record_note_between((const struct record *const *)records->items,
					records->count, merged);
	if (r < 0)
		return error_set_errno(err, r, "cannot merge the records");
	report_text(merged, NULL, rules, page);
	report_list(records, NULL, page);
	return 0;
}

int report_print(const struct records *records, const struct rules *rules, struct page *page,
		 struct error *err)
{
	_cleanup_(record_freep) struct record *last = NULL;

	assert(records->items && records->count > 0);
	if (records->count > 1)
		return print_merged(records, rules, page, err);
	if (runs_find_last_same(records->items[0], &last) < 0)
		last = NULL; /* nothing to compare with */
	report_text(records->items[0], last, rules, page);
	return 0;
}
