/* SPDX-License-Identifier: MIT */
#include "cli/watch_live.h"

#include <stdio.h>
#include <time.h>

#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "model/record.h"
#include "basic/utf8.h"
#include "cli/watch_source.h"

#define LABEL_COLUMNS 20
#define HEAD_EVERY 20 /* lines, on a terminal */

static const struct column {
	const char *head;
	unsigned int end; /* where it ends, to the right */
} columns[] = {
	{ "cores", 36 }, { "memory", 47 }, { "read/s", 58 }, { "write/s", 69 }, { "calls/s", 78 },
};

/* The text of a column, right aligned. */
static void put(struct page *page, size_t column, const char *text)
{
	size_t length = utf8_columns(text), end = columns[column].end;

	page_pad(page, end > length ? end - length : 0, 1);
	page_put(page, PAGE_PLAIN, "%s", text);
}

static void print_head(struct page *page)
{
	page_put(page, PAGE_DIM, "time      job");
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		put(page, i, columns[i].head);
	page_end_line(page);
}

/* What happened so often, a second; rounded. */
static uint64_t rate(uint64_t number, uint64_t elapsed_ns)
{
	return (uint64_t)(((unsigned __int128)number * 1000000000 + elapsed_ns / 2) / elapsed_ns);
}

static void put_rate(struct page *page, size_t column, const struct record *r, enum metric_id id)
{
	uint64_t total;

	if (!r->time.elapsed_ns || !record_total(r, id, &total))
		put(page, column, "-");
	else
		put(page, column, humanize_bytes(rate(total, r->time.elapsed_ns)).text);
}

/* Reads, writes and operations on metadata together. */
static void put_calls(struct page *page, size_t column, const struct record *r)
{
	uint64_t reads, writes, meta;

	if (!r->time.elapsed_ns || !record_total(r, METRIC_READ_CALLS, &reads) ||
	    !record_total(r, METRIC_WRITE_CALLS, &writes) ||
	    !record_total(r, METRIC_META_CALLS, &meta))
		put(page, column, "-");
	else
		put(page, column,
		    humanize_count(rate(reads + writes + meta, r->time.elapsed_ns)).text);
}

/* Memory as it is now, where somebody knows it; else the peak, marked as one. */
static void put_memory(struct page *page, size_t column, const struct record *r)
{
	const struct metric *usage = metric_find("memory", "usage_bytes");
	const struct value *now = usage ? &r->reading.values[metric_id_of(usage)] : NULL;
	const struct value *peak = &r->reading.values[METRIC_MEMORY_PEAK];
	char text[48] = "-";

	if (now && now->is_known)
		snprintf(text, sizeof(text), "%s", humanize_bytes(now->number).text);
	else if (peak->is_known)
		snprintf(text, sizeof(text), "<%s", humanize_bytes(peak->number).text);
	put(page, column, text);
}

static void print_job(const struct watched *job, const char *time_text, struct page *page)
{
	_cleanup_(record_freep) struct record *r = NULL;
	_cleanup_free_ char *label = utf8_shorten(job->label, LABEL_COLUMNS);
	uint64_t cores;

	if (!job->before || !label || record_subtract(job->last, job->before, &r, NULL) < 0 || !r)
		return;
	page_put(page, PAGE_PLAIN, "%s  %s", time_text, label);
	put(page, 0, record_cores_busy(r, &cores) ? humanize_cores(cores).text : "-");
	put_memory(page, 1, r);
	put_rate(page, 2, r, METRIC_READ_BYTES);
	put_rate(page, 3, r, METRIC_WRITE_BYTES);
	put_calls(page, 4, r);
	page_end_line(page);
}

void watch_live_print(void *context, const struct watched_list *list)
{
	struct watch_live *live = context;
	time_t now = time(NULL);
	char text[16] = "";
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	if (live->lines == 0 || (live->is_terminal && live->lines >= HEAD_EVERY)) {
		print_head(&live->page);
		live->lines = 0;
	}
	for (size_t i = 0; i < list->count; i++) {
		if (!list->items[i]->is_live)
			continue;
		print_job(list->items[i], text, &live->page);
		live->lines++;
	}
	fflush(live->page.out);
}
