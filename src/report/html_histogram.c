/* SPDX-License-Identifier: MIT */
#include "html_histogram.h"

#include "html.h"
#include "hue.h"
#include "humanize.h"

#define HEIGHT 44.0
#define COLUMNS_MIN 6 /* a single bar is not as wide as the page */

struct range {
	size_t first, last;
};

/* The buckets that hold anything, and some more if they are few. */
static struct range range_of(const struct histogram *histogram)
{
	struct range range = { HISTOGRAM_BUCKETS - 1, 0 };

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (!histogram->counts[i])
			continue;
		range.first = MIN(range.first, i);
		range.last = MAX(range.last, i);
	}
	while (range.last - range.first + 1 < COLUMNS_MIN) {
		if (range.last + 1 < HISTOGRAM_BUCKETS)
			range.last++;
		else
			range.first--;
	}
	return range;
}

static uint64_t most_of(const struct histogram *histogram)
{
	uint64_t most = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		most = MAX(most, histogram->counts[i]);
	return most;
}

static struct human bound_of(enum histogram_kind kind, size_t i)
{
	uint64_t bound = histogram_lower_bound(kind, i);

	return kind == HISTOGRAM_SIZE ? humanize_bytes(bound) : humanize_duration(bound);
}

static void put_bar(enum histogram_kind kind, const struct histogram *histogram,
		    const struct range *range, const struct hue *hue, size_t i, struct html *h)
{
	double width = 100.0 / (double)(range->last - range->first + 1);
	double share = (double)histogram->counts[i] / (double)most_of(histogram);
	double height = share * HEIGHT < 1 ? 1 : share * HEIGHT; /* a few are not none */

	html_begin(h, "rect");
	hue_put_fill(hue, h);
	html_attribute(h, "x", "%.2f%%", width * (double)(i - range->first) + width * 0.05);
	html_attribute(h, "width", "%.2f%%", width * 0.9);
	html_attribute(h, "y", "%.1f", HEIGHT - height);
	html_attribute(h, "height", "%.1f", height);
	html_element(h, "title", NULL, "from %s: %s", bound_of(kind, i).text,
		     humanize_count(histogram->counts[i]).text);
	html_end(h);
}

/* Half of them lie below the one, and 99 of 100 below the other. */
static void put_words(enum histogram_kind kind, const struct histogram *histogram,
		      const char *title, struct html *h)
{
	double half = 0, most = 0;

	if (histogram_quantile(kind, histogram, 0.5, &half) < 0 ||
	    histogram_quantile(kind, histogram, 0.99, &most) < 0)
		return;
	html_text(h, "%s: half below %s, 99 %% below %s", title,
		  (kind == HISTOGRAM_SIZE ? humanize_bytes((uint64_t)half)
					  : humanize_duration((uint64_t)half))
			  .text,
		  (kind == HISTOGRAM_SIZE ? humanize_bytes((uint64_t)most)
					  : humanize_duration((uint64_t)most))
			  .text);
}

bool html_put_histogram(enum histogram_kind kind, const struct histogram *histogram, const struct hue *hue, const char *title,
			struct html *h)
{
	struct range range;

	if (!most_of(histogram))
		return false;
	range = range_of(histogram);
	html_begin_class(h, "figure", "histogram");
	html_begin_class(h, "svg", "bars");
	html_attribute(h, "role", "img");
	html_attribute(h, "height", "%.0f", HEIGHT);
	html_begin(h, "title");
	put_words(kind, histogram, title, h);
	html_end(h);
	for (size_t i = range.first; i <= range.last; i++) {
		if (histogram->counts[i])
			put_bar(kind, histogram, &range, hue, i, h);
	}
	html_end(h);
	html_begin_class(h, "p", "ends");
	html_element(h, "span", NULL, "%s", bound_of(kind, range.first).text);
	html_element(h, "span", NULL, "%s%s", range.last + 1 < HISTOGRAM_BUCKETS ? "" : "over ",
		     bound_of(kind, MIN(range.last + 1, (size_t)HISTOGRAM_BUCKETS - 1)).text);
	html_end(h);
	html_begin(h, "figcaption");
	put_words(kind, histogram, title, h);
	html_end(h);
	html_end(h);
	return true;
}

static bool has_any(const struct mount_row *row)
{
	return row->has_histograms &&
	       (most_of(&row->sizes[OP_READ]) || most_of(&row->sizes[OP_WRITE]) ||
		most_of(&row->latencies[OP_READ]) || most_of(&row->latencies[OP_WRITE]));
}

bool html_put_histograms(const struct mount_row *row, struct html *h)
{
	if (!has_any(row))
		return false;
	html_element(h, "h3", "mount", "%s", row->mount);
	html_begin_class(h, "div", "grid");
	html_put_histogram(HISTOGRAM_SIZE, &row->sizes[OP_READ], &hue_read, "Size of reads", h);
	html_put_histogram(HISTOGRAM_LATENCY, &row->latencies[OP_READ], &hue_read, "Time of a read", h);
	html_put_histogram(HISTOGRAM_SIZE, &row->sizes[OP_WRITE], &hue_write, "Size of writes", h);
	html_put_histogram(HISTOGRAM_LATENCY, &row->latencies[OP_WRITE], &hue_write, "Time of a write", h);
	html_end(h);
	return true;
}
