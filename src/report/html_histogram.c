/* SPDX-License-Identifier: MIT */
#include "report/html_histogram.h"

#include "report/html.h"
#include "report/shade.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "report/rows_items.h"

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

static struct human tell(enum histogram_kind kind, uint64_t number)
{
	return kind == HISTOGRAM_SIZE ? humanize_bytes(number) : humanize_duration(number);
}

static struct human bound_of(enum histogram_kind kind, size_t i)
{
	return tell(kind, histogram_lower_bound(kind, i));
}

static void put_bar(const struct rows_histogram *shown, const struct range *range, size_t i,
		    struct html *h)
{
	double width = 100.0 / (double)(range->last - range->first + 1);
	double share = (double)shown->histogram->counts[i] / (double)most_of(shown->histogram);
	double height = share * HEIGHT < 1 ? 1 : share * HEIGHT; /* a few are not none */

	html_begin(h, "rect");
	shade_put_fill(shown->shade, h);
	html_attribute(h, "x", "%.2f%%", width * (double)(i - range->first) + width * 0.05);
	html_attribute(h, "width", "%.2f%%", width * 0.9);
	html_attribute(h, "y", "%.1f", HEIGHT - height);
	html_attribute(h, "height", "%.1f", height);
	html_element(h, "title", NULL, "from %s: %s", bound_of(shown->kind, i).text,
		     humanize_count(shown->histogram->counts[i]).text);
	html_end(h);
}

/* Half of them lie below the one, and 99 of 100 below the other. */
static void put_words(const struct rows_histogram *shown, struct html *h)
{
	double half = 0, most = 0;

	if (histogram_quantile(shown->kind, shown->histogram, 0.5, &half) < 0 ||
	    histogram_quantile(shown->kind, shown->histogram, 0.99, &most) < 0)
		return;
	html_text(h, "%s: half below %s, 99 %% below %s", shown->title,
		  tell(shown->kind, (uint64_t)half).text, tell(shown->kind, (uint64_t)most).text);
}

void html_put_histogram(const struct rows_histogram *shown, struct html *h)
{
	struct range range = range_of(shown->histogram);
	size_t beyond = MIN(range.last + 1, (size_t)HISTOGRAM_BUCKETS - 1);

	html_begin_class(h, "figure", "histogram");
	html_begin_class(h, "svg", "bars");
	html_attribute(h, "role", "img");
	html_attribute(h, "height", "%.0f", HEIGHT);
	html_begin(h, "title");
	put_words(shown, h);
	html_end(h);
	for (size_t i = range.first; i <= range.last; i++) {
		if (shown->histogram->counts[i])
			put_bar(shown, &range, i, h);
	}
	html_end(h);
	html_begin_class(h, "p", "ends");
	html_element(h, "span", NULL, "%s", bound_of(shown->kind, range.first).text);
	html_element(h, "span", NULL, "%s%s", range.last + 1 < HISTOGRAM_BUCKETS ? "" : "over ",
		     bound_of(shown->kind, beyond).text);
	html_end(h);
	html_begin(h, "figcaption");
	put_words(shown, h);
	html_end(h);
	html_end(h);
}
