/* SPDX-License-Identifier: MIT */
#include "report_text.h"

#include <inttypes.h>
#include <string.h>

#include "analysis.h"
#include "cleanup.h"
#include "hardware_words.h"
#include "headline.h"
#include "humanize.h"
#include "record.h"
#include "records.h"
#include "report_block.h"
#include "report_compare.h"
#include "report_core_time.h"
#include "report_files.h"
#include "report_hot.h"
#include "report_insights.h"
#include "report_network.h"
#include "report_syscalls.h"
#include "report_rows.h"
#include "report_timeline.h"
#include "report_waits.h"
#include "sentence.h"
#include "table.h"
#include "thermal_words.h"
#include "utf8.h"
#include "victim_words.h"

#define BAR_COLUMN 30
#define BAR_WIDTH 20
#define FAULTS_COLUMN 42
#define NAME_MIN 16
#define GAP 2 /* between the parts of the head */
#define SURVIVORS_SHOWN 8
#define STOLEN_NS_MIN 10000000 /* less is not worth a word */

static const struct value *value_of(const struct record *r, enum metric_id id)
{
	return &r->reading.values[id];
}

/* At the end of the line, where there is room. */
static void tell_score(const char *score, struct page *page)
{
	size_t columns = score ? utf8_columns(score) : 0;

	if (!columns || page->column + GAP + columns > page->width)
		return;
	page_pad(page, page->width - columns, GAP);
	page_put(page, PAGE_BOLD, "%s", score);
}

static void tell_head(const struct record *r, const char *score, struct page *page)
{
	_cleanup_free_ char *extent = headline_extent(r), *outcome = headline_outcome(r),
			    *name = NULL;
	size_t behind;

	if (!extent || !outcome)
		return;
	/* a narrow page takes two lines rather than half a name */
	behind = utf8_columns(outcome) + GAP;
	if (behind + GAP + utf8_columns(extent) + NAME_MIN <= page->width)
		behind += GAP + utf8_columns(extent);
	name = utf8_shorten(headline_name(r), page->width - behind);
	page_put(page, PAGE_BOLD, "%s", name ? name : "");
	page_pad(page, 0, GAP);
	page_put(page, headline_is_failure(r) ? PAGE_ALERT : PAGE_PLAIN, "%s", outcome);
	if (page->column + GAP + utf8_columns(extent) > page->width)
		page_end_line(page);
	else
		page_pad(page, 0, GAP);
	page_put(page, PAGE_PLAIN, "%s", extent);
	tell_score(score, page);
	page_end_line(page);
	if (r->merged_records == 1)
		return;
	page_put(page, PAGE_DIM, "merged from %u records on %u node%s", r->merged_records,
		 r->merged_nodes, r->merged_nodes == 1 ? "" : "s");
	page_end_line(page);
}

/* "user 3 m 10 s", or "user -". */
static void tell_duration(const char *what, const struct value *value, struct sentence *s)
{
	sentence_add(s, "   ", "%s %s", what,
		     value->is_known ? humanize_duration(value->number).text : "-");
}

/* @has_bar: the share is not drawn already. */
static void tell_cores(const struct record *r, bool has_bar, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence times = {};
	const struct value *allocated = value_of(r, METRIC_CPU_ALLOCATED);
	const struct value *throttled = value_of(r, METRIC_CPU_THROTTLED);
	const struct value *stolen = value_of(r, METRIC_CPU_STOLEN);
	uint64_t used = 0, share;
	bool is_known = record_cores_used(r, &used);

	page_label(page, "cores");
	page_put(page, PAGE_PLAIN, "%s%s", rows_bound(r),
		 is_known ? humanize_cores(used).text : "-");
	if (allocated->is_known)
		page_put(page, PAGE_PLAIN, " of %s", humanize_cores(allocated->number).text);
	page_put(page, PAGE_PLAIN, " used");
	if (has_bar && record_utilization(r, &share)) {
		page_pad(page, BAR_COLUMN, 2);
		page_bar(page, (double)share / 10000, BAR_WIDTH);
		page_pad(page, 0, 2);
		page_put(page, PAGE_PLAIN, "%5s", humanize_percent((double)share / 10000).text);
	}
	page_end_line(page);

	tell_duration("user", value_of(r, METRIC_CPU_USER), &times);
	tell_duration("system", value_of(r, METRIC_CPU_SYSTEM), &times);
	tell_duration("waiting to run", value_of(r, METRIC_CPU_RUN_QUEUE), &times);
	if (stolen->is_known && stolen->number >= STOLEN_NS_MIN)
		tell_duration("stolen", stolen, &times);
	page_paragraph(page, NULL, times.text ? times.text : "");
	if (!throttled->is_known || throttled->number == 0)
		return;
	page_label(page, NULL);
	page_put(page, PAGE_PLAIN, "held back by a quota %s",
		 humanize_duration(throttled->number).text);
	page_end_line(page);
}

static void tell_hardware(const struct record *r, struct page *page)
{
	_cleanup_free_ char *counted = hardware_words(r), *felt = thermal_words(r);

	if (counted)
		page_paragraph(page, "processor", counted);
	if (felt)
		page_paragraph(page, counted ? NULL : "processor", felt);
}

static void tell_memory_use(const struct record *r, struct page *page)
{
	const struct value *peak = value_of(r, METRIC_MEMORY_PEAK);
	const struct value *process = value_of(r, METRIC_MEMORY_PROCESS_PEAK);
	const struct value *limit = value_of(r, METRIC_MEMORY_LIMIT);

	if (peak->is_known)
		page_put(page, PAGE_PLAIN, "%s peak", humanize_bytes(peak->number).text);
	else if (process->is_known)
		page_put(page, PAGE_PLAIN, "%s peak of one process",
			 humanize_bytes(process->number).text);
	else
		page_put(page, PAGE_PLAIN, "-");
	/* the greatest of many against the sum of their limits would mislead */
	if (r->merged_records > 1 && peak->is_known)
		page_put(page, PAGE_PLAIN, " of any one record");
	else if (limit->is_known && peak->is_known)
		page_put(page, PAGE_PLAIN, " of %s", humanize_bytes(limit->number).text);
}

/* Pages that others brought in are not the group's, but a process that uses them shows them as its own:
 * then people find a larger number elsewhere, and want to know why. */
static void tell_largest_process(const struct record *r, struct page *page)
{
	const struct value *peak = value_of(r, METRIC_MEMORY_PEAK);
	const struct value *process = value_of(r, METRIC_MEMORY_PROCESS_PEAK);

	if (!peak->is_known || !process->is_known || process->number <= peak->number)
		return;
	page_label(page, NULL);
	page_put(page, PAGE_PLAIN, "%s in one process, with pages that it shares with others",
		 humanize_bytes(process->number).text);
	page_end_line(page);
}

#define VICTIMS_SHOWN 4

static void tell_victim(const struct victim *v, struct page *page)
{
	_cleanup_free_ char *words = victim_words(v);

	page_label(page, NULL);
	page_put(page, PAGE_ALERT, "killed: %s", words ? words : "-");
	page_end_line(page);
}

static void tell_victims(const struct victims *victims, struct page *page)
{
	for (size_t i = 0; i < MIN(victims->count, (size_t)VICTIMS_SHOWN); i++)
		tell_victim(&victims->items[i], page);
}

/* What the group's memory was used for, each at its own greatest. */
static void tell_memory_parts(const struct record *r, struct page *page)
{
	static const struct {
		enum metric_id id;
		const char *name;
	} parts[] = {
		{ METRIC_MEMORY_ANON_PEAK, "programs" },
		{ METRIC_MEMORY_FILE_PEAK, "page cache" },
		{ METRIC_MEMORY_SHMEM_PEAK, "shared memory" },
		{ METRIC_MEMORY_KERNEL_PEAK, "kernel" },
	};
	_cleanup_(sentence_freep) struct sentence s = {};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const struct value *value = value_of(r, parts[i].id);

		if (value->is_known && value->number)
			sentence_add(&s, ", ", "%s %s", parts[i].name, humanize_bytes(value->number).text);
	}
	if (!s.text)
		return;
	sentence_add(&s, " ", "(each at its greatest look)");
	page_paragraph(page, NULL, s.text);
}

static void tell_memory(const struct record *r, struct page *page)
{
	const struct value *minor = value_of(r, METRIC_MEMORY_MINOR_FAULTS);
	const struct value *major = value_of(r, METRIC_MEMORY_MAJOR_FAULTS);
	const struct value *kills = value_of(r, METRIC_MEMORY_OOM_KILLS);

	_cleanup_(sentence_freep) struct sentence faults = {};

	page_label(page, "memory");
	tell_memory_use(r, page);
	sentence_add(&faults, "", "faults %s minor, %s major",
		     minor->is_known ? humanize_count(minor->number).text : "-",
		     major->is_known ? humanize_count(major->number).text : "-");
	page_pad(page, FAULTS_COLUMN, 2);
	if (faults.text && page->column + utf8_columns(faults.text) > page->width) {
		page_end_line(page);
		page_label(page, NULL);
	}
	page_put(page, PAGE_PLAIN, "%s", faults.text ? faults.text : "");
	page_end_line(page);
	tell_memory_parts(r, page);
	tell_largest_process(r, page);
	if (kills->is_known && kills->number > 0) {
		page_label(page, NULL);
		page_put(page, PAGE_ALERT, "%s process%s killed because memory ran out",
			 humanize_count(kills->number).text,
			 kills->number == 1 ? " was" : "es were");
		page_end_line(page);
	}
	tell_victims(&r->victims, page);
}

static void tell_survivors(const struct record *r, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence s = {};

	for (size_t i = 0; i < MIN(r->survivor_count, (size_t)SURVIVORS_SHOWN); i++)
		sentence_add(&s, ", ", "%d %s", r->survivors[i].pid,
			     r->survivors[i].command ? r->survivors[i].command : "-");
	if (r->survivor_count > SURVIVORS_SHOWN)
		sentence_add(&s, " ", "and %zu more", r->survivor_count - SURVIVORS_SHOWN);
	if (s.text)
		page_paragraph(page, "left alone", s.text);
}

static void tell_notes(const struct record *r, struct page *page)
{
	for (size_t i = 0; i < r->coverage.notes.count; i++) {
		_cleanup_(sentence_freep) struct sentence s = {};

		sentence_add_whole(&s, r->coverage.notes.items[i]);
		if (s.text)
			page_paragraph(page, "note", s.text);
	}
}

static void tell_missing(const struct record *r, struct page *page)
{
	_cleanup_(sentence_freep) struct sentence s = {};
	const struct strings *missing = &r->coverage.missing;

	for (size_t i = 0; i < missing->count; i++)
		sentence_add_whole(&s, missing->items[i]);
	if (r->coverage.lost_events > 0)
		sentence_add(&s, " ", "%s event%s could not be kept.",
			     humanize_count(r->coverage.lost_events).text,
			     r->coverage.lost_events == 1 ? "" : "s");
	if (s.text)
		page_paragraph(page, "not seen", s.text);
}

static void tell_change(const struct record *now, const struct record *last, struct page *page)
{
	_cleanup_free_ char *change = last ? report_compare(last, now) : NULL;

	if (!change)
		return;
	page_paragraph(page, "since the last run of this command:", change);
}

/* The head, and the first sentences below it. */
static void tell_conclusions(const struct record *r, const struct analysis *analysis,
			     struct page *page)
{
	_cleanup_free_ char *score = report_score(analysis);

	tell_head(r, score, page);
	report_sentences(analysis, page);
}

void report_text(const struct record *now, const struct record *last, const struct rules *rules,
		 struct page *page)
{
	_cleanup_(analysis_clear) struct analysis analysis = {};

	(void)analysis_make(rules, now, &analysis); /* without memory for that, the record stands alone */
	tell_conclusions(now, &analysis, page);
	page_end_line(page);
	tell_cores(now, !report_core_time(now, page), page);
	tell_hardware(now, page);
	report_waits(now, page);
	tell_memory(now, page);
	report_timeline(now, analysis.patterns, page);
	report_files(now, page);
	report_hot(now, page);
	report_block(now, page);
	report_network(now, page);
	report_ports(now, page);
	report_syscalls(now, page);
	tell_survivors(now, page);
	tell_notes(now, page);
	tell_missing(now, page);
	tell_change(now, last, page);
}

static void list_record(const struct record *r, struct table *table)
{
	uint64_t cores = 0, read = 0, written = 0;
	bool has_cores = record_cores_used(r, &cores);
	bool has_read = record_total(r, METRIC_READ_BYTES, &read);
	bool has_written = record_total(r, METRIC_WRITE_BYTES, &written);

	if (r->job.rank >= 0)
		table_cell(table, "%d", r->job.rank);
	else
		table_cell(table, "-");
	table_cell(table, "%s", r->node ? r->node : "-");
	table_cell(table, "%s", humanize_duration(r->time.elapsed_ns).text);
	table_cell(table, "%s", has_cores ? humanize_cores(cores).text : "-");
	table_cell(table, "%s", has_read ? humanize_bytes(read).text : "-");
	table_cell(table, "%s", has_written ? humanize_bytes(written).text : "-");
}

void report_list(const struct records *records, struct page *page)
{
	static const struct table_column columns[] = {
		{ "rank" },    { "node", .is_left = true },
		{ "elapsed" }, { "cores used" },
		{ "read" },    { "written" },
	};
	_cleanup_(table_freep) struct table *table = table_new(columns, ARRAY_SIZE(columns));

	if (!table)
		return;
	for (size_t i = 0; i < records->count; i++)
		list_record(records->items[i], table);
	table_print(table, "records", page);
}
