/* SPDX-License-Identifier: MIT */
/*
 * What is read as records must come back from their JSON byte by byte, can be merged, prints as a
 * page without control characters, as YAML that can be read, and as CSV with as many cells in every
 * row.
 */
#include <string.h>
#include <yaml.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "fuzz.h"
#include "report/page.h"
#include "model/record.h"
#include "codec/record_format.h"
#include "codec/records.h"
#include "report/reports.h"
#include "analysis/rules.h"
#include "basic/utf8.h"

static char *json_of(const struct record *record)
{
	_cleanup_(document_freep) struct document *d = NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	d = document_new_json(out, DOCUMENT_ONE_LINE);
	record_format(record, d);
	CHECK(document_finish(d) == 0);
	fclose(out);
	return text;
}

static void check_rtt(const struct record *record)
{
	_cleanup_free_ char *before = json_of(record), *after = NULL;
	_cleanup_(records_clear) struct records back = {};
	struct error err;

	CHECK(records_parse(before, strlen(before), "back", &back, &err) == 0 && back.count == 1);
	after = json_of(back.items[0]);
	CHECK(strcmp(before, after) == 0);
}

static void check_page(const struct record *record)
{
	static struct rules *rules; /* the same for all */
	_cleanup_free_ char *text = NULL;
	size_t size;
	struct page page = { .out = open_memstream(&text, &size), .width = 60, .is_utf8 = true };
	const char *p;
	uint32_t c;

	if (!rules)
		CHECK(rules_load_built_in(&rules, NULL) == 0);
	report_text(record, record, rules, &page);
	fclose(page.out);
	for (p = text; (c = utf8_next(&p)) != 0;)
		CHECK(c == '\n' || utf8_is_printable(c));
	CHECK(p == text + size);
}

static void check_yaml(const struct record *record)
{
	_cleanup_(document_freep) struct document *d = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	yaml_parser_t parser;
	yaml_document_t tree;

	d = document_new_yaml(out);
	record_format(record, d);
	CHECK(document_finish(d) == 0 && fclose(out) == 0);
	CHECK(yaml_parser_initialize(&parser));
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	CHECK(yaml_parser_load(&parser, &tree));
	CHECK(yaml_document_get_root_node(&tree)->type == YAML_MAPPING_NODE);
	yaml_document_delete(&tree);
	yaml_parser_delete(&parser);
}

/* Every row has as many cells as the first, the header. */
static void check_csv(const struct record *record, enum record_rows rows)
{
	_cleanup_free_ char *text = NULL;
	size_t size, cells = 1, columns = 0;
	FILE *out = open_memstream(&text, &size);
	bool is_quoted = false;

	record_format_csv_header(rows, out);
	record_format_csv(record, rows, out);
	CHECK(fclose(out) == 0);
	for (const char *p = text; p < text + size; p++) {
		is_quoted ^= *p == '"';
		cells += *p == ',' && !is_quoted;
		if (*p != '\n' || is_quoted)
			continue;
		CHECK(columns == 0 || cells == columns);
		columns = cells;
		cells = 1;
	}
	CHECK(!is_quoted && cells == 1 && columns > 1);
}

static void check_record(const struct record *record)
{
	check_rtt(record);
	check_page(record);
	check_yaml(record);
	check_csv(record, ROWS_RECORD);
	check_csv(record, ROWS_MOUNT);
	check_csv(record, ROWS_SYSCALL);
	check_csv(record, ROWS_DEVICE);
}

/* What a watch of a job would say; not all of that has to be readable, where its ends say nonsense.
 */
static void check_difference(const struct record *later, const struct record *earlier)
{
	_cleanup_(record_freep) struct record *difference = NULL;
	struct error err;

	if (record_subtract(later, earlier, &difference, &err) < 0)
		return;
	check_page(difference);
	check_yaml(difference);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(records_clear) struct records records = {};
	_cleanup_(record_freep) struct record *merged = NULL;
	struct error err;

	records_parse((const char *)data, size, "fuzz", &records, &err);
	for (size_t i = 0; i < records.count; i++)
		check_record(records.items[i]);
	if (records.count > 1) {
		CHECK(record_merge((const struct record *const *)records.items, records.count,
				   &merged) == 0);
		check_record(merged);
		check_difference(records.items[1], records.items[0]);
	}
	return 0;
}
