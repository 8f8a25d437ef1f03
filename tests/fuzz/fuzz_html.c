/* SPDX-License-Identifier: MIT */
/*
 * Whatever is read as a record, its page is well formed, loads and runs nothing, and is bounded;
 * its Markdown has as many cells in every row of a table.
 */
#include <string.h>

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "fuzz.h"
#include "report/html_report.h"
#include "markup.h"
#include "codec/records.h"
#include "report/reports.h"

static void check_page(const struct record *record, const struct analysis *analysis)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	html_report(record, analysis, out);
	CHECK(fclose(out) == 0);
	CHECK(strlen(text) == size && size < HTML_REPORT_BYTES_MAX);
	CHECK(!markup_find_fault(text));
}

static size_t count_cells(const char *line, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++) {
		if (line[i] == '\\')
			i++;
		else
			count += line[i] == '|';
	}
	return count;
}

static void check_markdown(const struct record *record, const struct analysis *analysis)
{
	_cleanup_free_ char *text = NULL;
	size_t size, cells = 0;
	FILE *out = open_memstream(&text, &size);

	markdown_report(record, analysis, out);
	CHECK(fclose(out) == 0 && strlen(text) == size);
	for (const char *line = text; *line;) {
		size_t length = strcspn(line, "\n"),
		       here = *line == '|' ? count_cells(line, length) : 0;

		CHECK(!here || !cells || here == cells);
		cells = here;
		line += length + (line[length] == '\n');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rules *rules; /* read once: they are the same for all inputs */
	_cleanup_(records_clear) struct records records = {};
	struct error err;

	if (!rules)
		CHECK(rules_load_built_in(&rules, NULL) == 0);
	records_parse((const char *)data, size, "fuzz", &records, &err);
	for (size_t i = 0; i < records.count; i++) {
		_cleanup_(analysis_clear) struct analysis analysis = {};

		CHECK(analysis_make(rules, records.items[i], &analysis) == 0);
		check_page(records.items[i], &analysis);
		check_markdown(records.items[i], &analysis);
	}
	return 0;
}
