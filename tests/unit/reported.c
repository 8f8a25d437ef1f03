/* SPDX-License-Identifier: MIT */
#include "reported.h"

#include <stdlib.h>

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "report/page.h"
#include "model/rows.h"
#include "report/rows_text.h"
#include "analysis/rules.h"

char *reported(report_writer write, const struct record *r)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	_cleanup_(analysis_clear) struct analysis analysis = {};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out || rules_load_built_in(&rules, NULL) < 0 || analysis_make(rules, r, &analysis) < 0)
		abort();
	write(r, &analysis, out);
	fclose(out);
	return text;
}

char *reported_rows(struct rows *rows, unsigned int form, unsigned int width)
{
	struct page page = { .width = width, .is_utf8 = true };
	char *text = NULL;
	size_t size;

	page.out = open_memstream(&text, &size);
	if (!rows || !page.out)
		abort();
	rows_text(rows, form, &page);
	fclose(page.out);
	rows_free(rows);
	return text;
}
