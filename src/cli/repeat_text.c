/* SPDX-License-Identifier: MIT */
#include "cli/repeat_text.h"

#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "analysis/comparison.h"
#include "analysis/repetition.h"
#include "analysis/variables.h"
#include "codec/records.h"
#include "model/record.h"
#include "model/rows.h"
#include "report/headline.h"
#include "report/page.h"
#include "report/rows_text.h"

static struct human tell(double number, const struct variable *variable)
{
	return amount_format(amount_of(number), variable->dimension);
}

/* In percent of the mean, as perf stat says it. */
static struct human tell_spread(const struct repetition *r)
{
	struct human h = { "-" };

	if (r->known > 1 && r->mean > 0)
		snprintf(h.text, sizeof(h.text), "± %.1f %%", 100 * r->deviation / r->mean);
	return h;
}

static void add_row(const struct repetition *r, const struct variable *variable, const char *label,
		    struct rows_table *table)
{
	rows_row(table, ROWS_ALL);
	rows_cell(table, cell_words(label));
	rows_cell(table, cell_words(tell(r->mean, variable).text));
	rows_cell(table, cell_words(tell_spread(r).text));
	rows_cell(table, cell_words(tell(r->least, variable).text));
	rows_cell(table, cell_words(tell(r->median, variable).text));
	rows_cell(table, cell_words(tell(r->greatest, variable).text));
}

static void tell_outliers(const struct repetition *r, const struct variable *variable,
			  const char *label, const struct records *runs, struct rows *rows)
{
	rows_begin(rows, ROWS_TEXT, NULL);
	for (size_t i = 0; r->known && i < runs->count; i++) {
		const struct subject subject = { .record = runs->items[i] };
		struct amount a = variable_get(variable, &subject);

		if (repetition_is_outlier(r, a))
			rows_say(rows, ", ", "%srun %zu (%s)",
				 rows_has_said(rows) ? "" : "outliers: ", i + 1,
				 tell(a.number, variable).text);
	}
	if (rows_has_said(rows))
		rows_say(rows, "", ", by %s", label);
}

static void tell_failures(const struct records *runs, struct rows *rows)
{
	for (size_t i = 0; i < runs->count; i++) {
		_cleanup_free_ char *outcome = NULL;

		if (!headline_is_failure(runs->items[i]))
			continue;
		outcome = headline_outcome(runs->items[i]);
		rows_alert(rows, ROWS_TEXT, NULL, "run %zu: %s", i + 1,
			   outcome ? outcome : "failed");
	}
}

void repeat_text(const struct records *runs, const struct variables *variables, struct page *page)
{
	static const struct rows_column columns[] = {
		{ "what" }, { "mean" }, { "spread" }, { "least" }, { "median" }, { "greatest" },
	};
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct rows_table *table = rows_table(rows, ROWS_ALL, NULL, columns, ARRAY_SIZE(columns));
	struct repetition repetitions[FIRST_NUMBERS] = {};
	const struct variable *found[FIRST_NUMBERS];

	for (size_t i = 0; i < FIRST_NUMBERS; i++) {
		const char *name = first_numbers[i].variable;

		found[i] = variables_find(variables, name, strlen(name));
		if (repetition_make(found[i], runs->items, runs->count, &repetitions[i]) == 0 &&
		    repetitions[i].known)
			add_row(&repetitions[i], found[i], first_numbers[i].label, table);
	}
	for (size_t i = 0; i < FIRST_NUMBERS; i++)
		tell_outliers(&repetitions[i], found[i], first_numbers[i].label, runs, rows);
	tell_failures(runs, rows);
	page_put(page, PAGE_BOLD, "%s", headline_name(runs->items[0]));
	page_put(page, PAGE_PLAIN, "  %zu run%s", runs->count, runs->count == 1 ? "" : "s");
	page_end_line(page);
	rows_text(rows, ROWS_TEXT, page);
}
