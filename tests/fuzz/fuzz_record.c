/* SPDX-License-Identifier: MIT */
/*
 * What is read as records must come back from their JSON byte by byte, can be merged, and prints as
 * a page without control characters.
 */
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "document.h"
#include "error.h"
#include "fuzz.h"
#include "page.h"
#include "record_format.h"
#include "records.h"
#include "report_text.h"
#include "utf8.h"

static char *json_of(const struct record *record)
{
	_cleanup_(document_freep) struct document *d = NULL;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	d = document_new_json(out, DOCUMENT_ONE_LINE);
	record_format(record, d);
	if (document_finish(d) < 0)
		abort();
	fclose(out);
	return text;
}

static void check_round_trip(const struct record *record)
{
	_cleanup_free_ char *before = json_of(record), *after = NULL;
	_cleanup_(records_clear) struct records back = {};
	struct error err;

	if (records_parse(before, strlen(before), "back", &back, &err) < 0 || back.count != 1)
		abort();
	after = json_of(back.items[0]);
	if (strcmp(before, after) != 0)
		abort();
}

static void check_page(const struct record *record)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	struct page page = { .out = open_memstream(&text, &size), .width = 60, .is_utf8 = true };
	const char *p;
	uint32_t c;

	report_text(record, record, &page);
	fclose(page.out);
	for (p = text; (c = utf8_next(&p)) != 0;) {
		if (c != '\n' && !utf8_is_printable(c))
			abort();
	}
	if (p != text + size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(records_clear) struct records records = {};
	_cleanup_(record_freep) struct record *merged = NULL;
	struct error err;

	records_parse((const char *)data, size, "fuzz", &records, &err);
	for (size_t i = 0; i < records.count; i++) {
		check_round_trip(records.items[i]);
		check_page(records.items[i]);
	}
	if (records.count > 1) {
		if (record_merge((const struct record *const *)records.items, records.count,
				 &merged) < 0)
			abort();
		check_page(merged);
	}
	return 0;
}
