/* SPDX-License-Identifier: MIT */
#include "cli/report.h"

#include <assert.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "report/page.h"
#include "codec/records.h"
#include "report/reports.h"
#include "cli/runs.h"

static int print_merged(const struct records *records, const struct rules *rules, struct page *page,
			struct error *err)
{
	_cleanup_(record_freep) struct record *merged = NULL;
	int r = record_merge((const struct record *const *)records->items, records->count, &merged);

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
