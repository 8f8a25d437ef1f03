/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "report/html_report.h"
#include "made.h"
#include "markup.h"
#include "codec/records.h"
#include "reported.h"
#include "test.h"

static char *page_of(const struct record *r)
{
	return reported(html_report, r);
}

static struct record *read_data(const char *name)
{
	_cleanup_free_ char *text = test_data(name);
	struct records records = {};
	struct record *r;
	struct error err = {};

	ASSERT_OK(records_parse(text, strlen(text), name, &records, &err));
	r = records.items[0];
	free(records.items);
	return r;
}

/* As a part of it looks, from @from up to the first @to behind it. */
static char *part_of(const char *page, const char *from, const char *to)
{
	const char *start = strstr(page, from), *end = start ? strstr(start, to) : NULL;

	ASSERT(start && end);
	return strndup(start, (size_t)(end - start) + strlen(to));
}

TEST(every_page_is_well_formed)
{
	static const char *const names[] = { "made-train.json",	       "made-nasty.json",
					     "made-hot.json",	       "made-ways.json",
					     "made-short.json",	       "made-long.json",
					     "pages/made-epochs.json", "made-hardware.json" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(record_freep) struct record *r = read_data(names[i]);
		_cleanup_free_ char *page = page_of(r);

		ASSERT_STREQ(markup_find_fault(page), NULL);
		ASSERT_CONTAINS(
			page, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src");
	}
}

TEST(a_record_that_knows_nothing_has_a_page)
{
	_cleanup_(record_freep) struct record *r = record_new();
	_cleanup_free_ char *page = page_of(r);

	ASSERT_STREQ(markup_find_fault(page), NULL);
	ASSERT_CONTAINS(page, "<h1>(no name)</h1>");
	ASSERT_CONTAINS(page, "<p class=\"note\">Not measured.</p>");
	ASSERT_CONTAINS(page, "Not known: the record has no timeline.");
}

TEST(counters_and_sensors_are_told_in_words)
{
	_cleanup_(record_freep) struct record *r = read_data("made-hardware.json");

	ASSERT_TOLD(
		page_of(r),
		"~2.84 GHz while on CPU, ~0.61 instructions a cycle, ~14.2 LLC misses per 1,000 instructions, "
		"~4.80 GFLOP/s while on CPU",
		"2.84 GHz on average, 1.90 GHz at least, 82 °C on average, 93 °C at most, cores throttled 13 times, "
		"packages throttled 1 time (62 samples of its CPUs)",
		"Hardware counters: estimates, since they took turns and counted 80 % of the time.");
}

TEST(the_head_says_what_it_was)
{
	_cleanup_(record_freep) struct record *r = read_data("pages/made-epochs.json");
	_cleanup_free_ char *page = page_of(r), *head = part_of(page, "<header>", "<section>");

	ASSERT_CONTAINS(head, "<h1>./train.sh --epochs 3</h1>");
	ASSERT_CONTAINS(head, "<span class=\"well\">OK</span> · 2 m 14 s · made-node17, 4 cores");
	ASSERT_LACKS(head, "score");
	ASSERT_CONTAINS(head, "<dd>train-epochs</dd>");
	ASSERT_CONTAINS(head, "<dd>2026-02-03 04:05:06</dd>");
}

TEST(the_bar_is_the_core_time)
{
	_cleanup_(record_freep) struct record *r = read_data("pages/made-epochs.json");
	_cleanup_free_ char *page = page_of(r),
			    *bar = part_of(page, "<svg class=\"bar\"", "</svg>");
	double sum = 0;

	for (const char *p = bar; (p = strstr(p, " width=\"")) != NULL; p++)
		sum += strtod(p + strlen(" width=\""), NULL);
	ASSERT(sum > 99.5 && sum < 100.01);
	ASSERT_CONTAINS(bar, "role=\"img\"");
	ASSERT_CONTAINS(bar, "on a CPU ");
	ASSERT_CONTAINS(bar, "fill=\"url(#stripes");
}

TEST(plots_have_gaps_limits_and_words)
{
	_cleanup_(record_freep) struct record *r = read_data("pages/made-epochs.json");
	_cleanup_free_ char *page = page_of(r);
	_cleanup_free_ char *cores = part_of(page, "aria-labelledby=\"cores-title", "</figure>");

	ASSERT_CONTAINS(cores, "<desc id=\"cores-words\">Over 2 m 14 s: mean ");
	ASSERT_CONTAINS(cores, ">4 allowed</text>");
	ASSERT_CONTAINS(cores, ">1 m</text>");
	ASSERT_LACKS(cores, "class=\"gap\"");
	ASSERT_TOLD(part_of(page, "aria-labelledby=\"memory-title", "</figure>"), "class=\"gap\"",
		    "where nothing was measured", "limit 16 GiB");
}

TEST(the_steps_of_a_plot_are_the_buckets)
{
	_cleanup_(record_freep) struct record *r = record_new();
	_cleanup_free_ char *page = NULL;
	struct value values[TIMELINE_SERIES] = {};
	const uint64_t second = UINT64_C(1000000000), start = UINT64_C(1770091506) * second;

	r->time.start_ns = start;
	r->time.elapsed_ns = 4 * second;
	values[timeline_find("memory", "usage_bytes")] = (struct value){ 1024, true };
	ASSERT_OK(timeline_begin(&r->timeline, start, second));
	ASSERT_OK(timeline_feed(&r->timeline, start, second, values));
	ASSERT_OK(timeline_feed(&r->timeline, start + 2 * second, 3 * second, values));
	values[timeline_find("memory", "usage_bytes")].number = 512;
	ASSERT_OK(timeline_feed(&r->timeline, start + 2 * second + 1, 3 * second + 1, values));
	ASSERT_OK(timeline_feed(&r->timeline, start + 4 * second - 1, 5 * second - 1, values));
	page = page_of(r);
	ASSERT_TEXT(part_of(page, "<path class=\"c5\"", "</path>"),
		    "<path class=\"c5\" d=\"M0.0 120.0V5.7H750.0V62.9H1000.0V120.0H0.0Z\"></path>");
}

TEST(what_a_record_says_is_never_markup)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	_cleanup_free_ char *page = NULL;
	const char *evil = "\"><script>alert(1)</script>&<!--";

	free(r->job.name);
	r->job.name = strdup(evil);
	free(r->reading.mounts[0].mount);
	r->reading.mounts[0].mount = strdup(evil);
	ASSERT_OK(strings_add(&r->coverage.missing, "%s", evil));
	page = page_of(r);
	ASSERT_STREQ(markup_find_fault(page), NULL);
	ASSERT_LACKS(page, "<script");
	ASSERT_LACKS(page, "<!--");
	ASSERT_CONTAINS(page,
			"<dd>&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;&lt;!--</dd>");
}

TEST(the_busiest_of_many_mounts_are_told_and_the_rest_is_counted)
{
	_cleanup_(record_freep) struct record *r = record_new();
	_cleanup_free_ char *page = NULL;
	char name[4000];

	memset(name, '<', sizeof(name));
	for (unsigned int i = 0; i < MOUNT_ROWS_MAX; i++) {
		struct mount_row *row;

		snprintf(name, sizeof(name), "/mount/%u", i);
		name[strlen(name)] = i % 2 ? '<' : '\0';
		name[sizeof(name) - 1] = '\0';
		row = reading_get_mount(&r->reading, ROW_MOUNT, name, name);
		row->ops[OP_READ] = (struct op_counts){ .calls = 1,
							.bytes = UINT64_C(1024) * (i + 1) };
		row->sizes[OP_READ].counts[i % HISTOGRAM_BUCKETS] = 1;
		row->has_histograms = true;
	}
	r->reading.has_mounts = true;
	page = page_of(r);
	ASSERT_STREQ(markup_find_fault(page), NULL);
	ASSERT(strlen(page) < HTML_REPORT_BYTES_MAX);
	ASSERT_CONTAINS(page, "/mount/4094");
	ASSERT_LACKS(page, "/mount/4000");
	ASSERT_CONTAINS(page, "And 4064 more mounts (");
}
