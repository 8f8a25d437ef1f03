/* SPDX-License-Identifier: MIT */
#include "report/reports.h"

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "basic/macro.h"
#include "report/mount_rows.h"
#include "report/page.h"
#include "model/record.h"
#include "report/record_rows.h"
#include "codec/records.h"
#include "model/rows.h"
#include "report/rows_markdown.h"
#include "report/rows_text.h"
#include "basic/humanize.h"
#include "basic/text.h"
#include "report/headline.h"
#include "report/rows_items.h"

void report_text(const struct record *now, const struct record *last, const struct rules *rules,
		 struct page *page)
{
	_cleanup_(analysis_clear) struct analysis analysis = {};
	_cleanup_(rows_freep) struct rows *rows = NULL;

	(void)analysis_make(rules, now, &analysis); /* without memory for that, the record stands
						       alone */
	rows = record_rows(now, last, &analysis);
	rows_text(rows, page->is_full ? ROWS_TEXT : ROWS_SCREEN, page);
}

void markdown_report(const struct record *r, const struct analysis *analysis, FILE *out)
{
	_cleanup_(rows_freep) struct rows *rows = record_rows(r, NULL, analysis);

	rows_markdown(rows, out);
}

/* ---- many records ---- */

#define LISTED_MAX 16

static bool read_elapsed(const struct record *r, uint64_t *ret)
{
	*ret = r->time.elapsed_ns;
	return true;
}

static bool read_memory(const struct record *r, uint64_t *ret)
{
	*ret = r->reading.values[METRIC_MEMORY_PEAK].number;
	return r->reading.values[METRIC_MEMORY_PEAK].is_known;
}

static const char *rank_of(const struct record *r, struct rows *rows)
{
	return r->job.rank >= 0 ? rows_format(rows, "%d", r->job.rank) : NULL;
}

static const char *node_of(const struct record *r, struct rows *rows)
{
	(void)rows;
	return r->node;
}

/* A column of the list: words, or a number, of which there are the least, the mean and the most. */
static const struct list_column {
	const char *name;
	struct rows_column head;
	const char *(*words)(const struct record *r, struct rows *rows);
	bool (*read)(const struct record *r, uint64_t *ret); /* NULL: the total of @id */
	enum metric_id id;
	struct dimension dimension;
	double scale; /* of what is read */
} list_columns[] = {
	{ "rank", { "rank" }, .words = rank_of },
	{ "node", { "node", .is_left = true }, .words = node_of },
	{ "elapsed", { "elapsed" }, NULL, read_elapsed, 0, DIMENSION_SECONDS, 1e9 },
	{ "cpu", { "CPU time", .rank = 1 }, NULL, record_cpu_time, 0, DIMENSION_SECONDS, 1e9 },
	{ "cores", { "cores used" }, NULL, record_cores_busy, 0, DIMENSION_NUMBER, 1000 },
	{ "memory", { "memory" }, NULL, read_memory, 0, DIMENSION_BYTES, 1 },
	{ "read", { "read" }, NULL, NULL, METRIC_READ_BYTES, DIMENSION_BYTES, 1 },
	{ "written", { "written" }, NULL, NULL, METRIC_WRITE_BYTES, DIMENSION_BYTES, 1 },
};
_Static_assert(ARRAY_SIZE(list_columns) <= REPORT_COLUMNS_MAX, "all can be wanted");

const char *report_column_name(size_t i)
{
	return i < ARRAY_SIZE(list_columns) ? list_columns[i].name : NULL;
}

static struct amount number_of(const struct record *r, const struct list_column *c)
{
	uint64_t number = 0;
	bool is_known = c->read ? c->read(r, &number) : record_total(r, c->id, &number);

	return (struct amount){ (double)number / c->scale, is_known };
}

static void put_number(const struct list_column *c, struct amount a, struct rows_table *table)
{
	rows_cell(table, cell_words(a.is_known ? amount_format(a, c->dimension).text : NULL));
}

static void add_record(const struct record *r, const struct report_columns *columns,
		       struct rows *rows, struct rows_table *table)
{
	rows_row(table, ROWS_ALL);
	for (size_t i = 0; i < columns->count; i++) {
		const struct list_column *c = &list_columns[columns->items[i]];

		if (c->words)
			rows_cell(table, cell_words(c->words(r, rows)));
		else
			put_number(c, number_of(r, c), table);
	}
}

/* The least, the mean and the most of a column over all records; of what one does not know, none.
 */
struct spread {
	struct amount least, mean, most;
};

static struct spread spread_of(const struct records *records, const struct list_column *c)
{
	struct spread s = {};

	for (size_t i = 0; i < records->count; i++) {
		const struct amount a = number_of(records->items[i], c);

		if (!a.is_known)
			return (struct spread){};
		s.least = i && s.least.number < a.number ? s.least : a;
		s.most = i && s.most.number > a.number ? s.most : a;
		s.mean = i ? amount_add(s.mean, a) : a;
	}
	s.mean.number /= (double)records->count;
	return s;
}

static void add_spread(const struct records *records, const struct report_columns *columns,
		       struct rows_table *table)
{
	static const char *const names[] = { "min", "mean", "max" };

	for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
		rows_row(table, ROWS_ALL);
		for (size_t i = 0; i < columns->count; i++) {
			const struct list_column *c = &list_columns[columns->items[i]];
			struct spread s;

			if (c->words) {
				rows_cell(table, cell_words(i ? "" : names[n]));
				continue;
			}
			s = spread_of(records, c);
			put_number(c, n == 0 ? s.least : n == 1 ? s.mean : s.most, table);
		}
	}
}

void report_list(const struct records *records, const struct report_columns *wanted,
		 struct page *page)
{
	const bool is_all = !wanted || !wanted->count;
	struct report_columns columns = is_all ? (struct report_columns){} : *wanted;
	struct rows_column heads[ARRAY_SIZE(list_columns)];
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct rows_table *table;

	for (size_t i = 0; is_all && i < ARRAY_SIZE(list_columns); i++)
		columns.items[columns.count++] = i;
	for (size_t i = 0; i < columns.count; i++) {
		heads[i] = list_columns[columns.items[i]].head;
		heads[i].rank = is_all ? heads[i].rank : 0; /* who wants it gets it */
	}
	if (is_all)
		rows_gap(rows);
	table = rows_table(rows, is_all ? ROWS_ALL : ROWS_FIRST, is_all ? "records" : NULL, heads,
			   columns.count);
	for (size_t i = 0; (!is_all || records->count <= LISTED_MAX) && i < records->count; i++)
		add_record(records->items[i], &columns, rows, table);
	if (is_all)
		add_spread(records, &columns, table);
	rows_text(rows, ROWS_TEXT, page);
}

#define GAP 3
#define INDENT 2
#define WIDTH 91 /* that of efficiency on a line each, with short bars */

/* "jobmeter: train.sh   OK, 2 m 14 s   node17, 4 cores" */
static void put_headline(const struct record *r, struct page *page)
{
	_cleanup_free_ char *place = headline_place(r), *outcome = headline_outcome(r);
	const bool is_unnamed = r->job.id && headline_name(r) == r->job.id;

	page_put(page, PAGE_BOLD, "jobmeter: %s%s", is_unnamed ? "job " : "", headline_name(r));
	page_pad(page, 0, GAP);
	/* of a job that has not ended how it ends is not known, and where this is read it has */
	if (r->is_final && outcome)
		page_put(page, PAGE_PLAIN, "%s, ", outcome);
	page_put(page, PAGE_PLAIN, "%s", humanize_duration(r->time.elapsed_ns).text);
	page_pad(page, 0, GAP);
	page_put(page, PAGE_PLAIN, "%s", place ? place : "");
	page_end_line(page);
}

void summary_text(const struct record *r, const struct rules *rules, struct page *page)
{
	_cleanup_(analysis_clear) struct analysis analysis = {};
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	const unsigned int width = page->width;
	const struct insight *first;
	const char *action;
	const bool is_run = text_is_equal(r->job.manager, "run");

	(void)analysis_make(rules, r, &analysis);
	rows_set_bound(rows, record_is_bound(r));
	efficiency_rows(r, &analysis, true, rows);
	put_headline(r, page);
	first = analysis.insights.count ? &analysis.insights.items[0] : NULL;
	action = first ? finding_action(first) : NULL;
	page_pad(page, INDENT, 0);
	page_put(page, PAGE_PLAIN, "%s", first ? first->text : findings_verdict(&analysis));
	if (action)
		page_put(page, PAGE_BOLD, " -> %s", action);
	page_end_line(page);
	page->width = WIDTH;
	rows_text(rows, ROWS_SCREEN, page);
	page->width = width;
	page_pad(page, INDENT, 0);
	page_put(page, PAGE_PLAIN, "More: jobmeter report --full %s%s%s",
		 is_run || !r->job.manager ? "" : r->job.manager,
		 is_run || !r->job.manager ? "" : "/", r->job.id ? r->job.id : "FILE");
	if (r->job.manager && !is_run && r->node)
		page_put(page, PAGE_PLAIN, " (on %s, for some minutes after its end)", r->node);
	page_end_line(page);
}
