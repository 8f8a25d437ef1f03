/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "model/cause.h"
#include "basic/cleanup.h"
#include "analysis/formula.h"
#include "basic/humanize.h"
#include "report/mount_rows.h"
#include "model/record.h"
#include "report/record_rows.h"
#include "report/rows_items.h"
#include "report/sentence.h"

#define STOLEN_NS_MIN 10000000 /* less is not worth a word */

/* ---- core time ---- */

static void add_share(struct rows *rows, struct rows_shares *shares, const struct shade *shade,
		      double seconds, double core)
{
	shares->items[shares->count++] = (struct rows_share_part){
		.shade = shade,
		.share = seconds / core,
		.text = rows_format(rows, "%s",
				    amount_format(amount_of(seconds), DIMENSION_SECONDS).text),
	};
}

static void add_shares(const struct record *r, const struct core_time *t, struct rows *rows)
{
	static const struct shade unused = { .label = "not used (cause unknown)", .colour = 7 };
	const uint64_t cores = record_value(r, METRIC_CPU_ALLOCATED)->number;
	struct rows_item *item = rows_add(rows, ITEM_SHARES, t->has_causes ? ROWS_ALL : ROWS_LONG,
					  "core time");

	if (!item)
		return;
	item->shares.whole = rows_format(rows, "%s core%s x %s = %s", humanize_cores(cores).text,
					 cores == 1000 ? "" : "s",
					 humanize_duration(r->time.elapsed_ns).text,
					 amount_format(amount_of(t->core), DIMENSION_SECONDS).text);
	add_share(rows, &item->shares, &shade_on_cpu, t->on_cpu, t->core);
	for (size_t c = 0; t->has_causes && c < LOST_COUNT; c++)
		add_share(rows, &item->shares, shade_of_cause(c), t->lost[c], t->core);
	add_share(rows, &item->shares, t->has_causes ? &shade_idle : &unused,
		  t->has_causes ? t->idle : t->unused, t->core);
}

/* ---- what threads waited for ---- */

struct wait {
	size_t cause;
	uint64_t ns;
};

static int compare_waits(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (int)x->cause - (int)y->cause;
}

/* The causes that are known, the longest first. */
static size_t list_waits(const struct record *r, struct wait ret[LOST_COUNT])
{
	size_t found = 0;

	for (size_t c = 0; c < LOST_COUNT; c++) {
		const struct value *value = record_value(r, lost_metric(c));

		if (value->is_known && value->number > 0)
			ret[found++] = (struct wait){ c, value->number };
	}
	if (found > 1)
		qsort(ret, found, sizeof(*ret), compare_waits);
	return found;
}

void core_time_rows(const struct record *r, const struct analysis *a, struct rows *rows)
{
	const struct core_time *t = &a->efficiency.core_time;
	static const struct rows_column columns[] = {
		{ "waited for" },
		{ "time" },
		{ "of all threads' time", .rank = 1 },
		{ "core time lost" },
	};
	struct rows_table *table;
	struct wait waits[LOST_COUNT];
	size_t count;

	rows_part(rows, "Core time");
	if (t->is_known && t->core > 0) {
		add_shares(r, t, rows);
	} else {
		rows_line(rows, ROWS_HTML, NULL,
			  "not known: the allocated cores or the CPU time are missing");
	}
	table = rows_table(rows, ROWS_FULL, "waits", columns, ARRAY_SIZE(columns));
	count = list_waits(r, waits);
	for (size_t i = 0; i < count; i++) {
		const struct wait *wait = &waits[i];
		struct amount all = thread_time(r);
		struct amount seconds = amount_of_metric(lost_metric(wait->cause), wait->ns);
		struct amount lost = { t->lost[wait->cause], t->has_causes }, share = {};

		if (all.is_known && all.number > 0)
			share = amount_of(seconds.number / all.number);
		rows_row(table, ROWS_ALL);
		rows_cell(table, cell_words(shade_of_cause(wait->cause)->label));
		rows_cell(table, cell_words(amount_format(seconds, DIMENSION_SECONDS).text));
		rows_cell(table, cell_words(amount_format(share, DIMENSION_SHARE).text));
		rows_cell(table, cell_words(lost_can_be(wait->cause)
						    ? amount_format(lost, DIMENSION_SECONDS).text
						    : "none"));
	}
}

/* ---- CPU time ---- */

/* "user 3 m 10 s", or "user -". */
static void say_duration(struct rows *rows, const char *what, const struct value *value)
{
	rows_say(rows, ", ", "%s %s", what,
		 value->is_known ? humanize_duration(value->number).text : "-");
}

static struct human count_of(const struct record *r, enum metric_id id)
{
	return record_value(r, id)->is_known ? humanize_count(record_value(r, id)->number)
					     : (struct human){ "-" };
}

/* "1" is one node; "0-1", "0,2" are several. */
static const char *plural_of(const char *list)
{
	return strpbrk(list, ",-") ? "s" : "";
}

/* "allowed CPUs 0-15, used 0-3, 1,204 migrations, NUMA node 0 of 0-1": where it could run, and did.
 */
static void add_binding(const struct record *r, struct rows *rows)
{
	const struct value *migrations = record_value(r, METRIC_CPU_MIGRATIONS);
	const char *allowed = r->job.numa_allowed, *used = r->job.numa_used;

	rows_begin(rows, ROWS_FULL, "CPU binding");
	if (r->job.cpus_allowed)
		rows_say(rows, ", ", "allowed CPUs %s", r->job.cpus_allowed);
	if (r->job.cpus_used)
		rows_say(rows, ", ", "used %s", r->job.cpus_used);
	if (migrations->is_known)
		rows_say(rows, ", ", "%s migration%s", humanize_count(migrations->number).text,
			 migrations->number == 1 ? "" : "s");
	if (used || allowed)
		rows_say(rows, ", ", "NUMA node%s %s", plural_of(used ? used : allowed),
			 used ? used : allowed);
	if (used && allowed)
		rows_say(rows, " ", "of %s", allowed);
}

void cpu_time_rows(const struct record *r, struct rows *rows)
{
	const struct value *throttled = record_value(r, METRIC_CPU_THROTTLED),
			   *stolen = record_value(r, METRIC_CPU_STOLEN);

	rows_begin(rows, ROWS_FULL, "CPU time");
	say_duration(rows, "user", record_value(r, METRIC_CPU_USER));
	say_duration(rows, "kernel", record_value(r, METRIC_CPU_SYSTEM));
	say_duration(rows, "waiting for a CPU", record_value(r, METRIC_CPU_RUN_QUEUE));
	if (stolen->is_known && stolen->number >= STOLEN_NS_MIN)
		say_duration(rows, "stolen", stolen);
	if (throttled->is_known && throttled->number)
		say_duration(rows, "throttled", throttled);
	rows_line(rows, ROWS_FULL, "switches", "%s voluntary, %s involuntary",
		  count_of(r, METRIC_CPU_VOLUNTARY_SWITCHES).text,
		  count_of(r, METRIC_CPU_INVOLUNTARY_SWITCHES).text);
	add_binding(r, rows);
}

/* ---- counters and sensors ---- */

static double number_of(const struct record *r, enum metric_id id)
{
	return (double)r->reading.values[id].number;
}

/* Both are known, and there is something to divide by. */
static bool has_ratio(const struct record *r, enum metric_id above, enum metric_id below)
{
	return r->reading.values[above].is_known && r->reading.values[below].is_known &&
	       r->reading.values[below].number > 0;
}

/* Two or three digits. */
static void add_counted(struct sentence *s, const struct record *r, double number, const char *unit)
{
	const int places = number >= 100 ? 0 : number >= 10 ? 1 : 2;

	sentence_add(s, ", ", "%s%.*f %s", record_counters_are_estimates(r) ? "~" : "", places,
		     number, unit);
}

char *hardware_words(const struct record *r)
{
	const double enabled_ns = number_of(r, METRIC_CPU_COUNTERS_ENABLED);
	/* cycles of user mode alone against the time in the kernel, too, would be no frequency */
	const bool has_time = !strings_contain(&r->coverage.notes, RECORD_NOTE_USER_MODE);
	struct sentence s = {};

	if (has_time && has_ratio(r, METRIC_CPU_CYCLES, METRIC_CPU_COUNTERS_ENABLED))
		add_counted(&s, r, number_of(r, METRIC_CPU_CYCLES) / enabled_ns,
			    "GHz while on CPU");
	if (has_ratio(r, METRIC_CPU_INSTRUCTIONS, METRIC_CPU_CYCLES))
		add_counted(&s, r,
			    number_of(r, METRIC_CPU_INSTRUCTIONS) / number_of(r, METRIC_CPU_CYCLES),
			    "instructions a cycle");
	if (has_ratio(r, METRIC_CPU_LLC_MISSES, METRIC_CPU_INSTRUCTIONS))
		add_counted(&s, r,
			    number_of(r, METRIC_CPU_LLC_MISSES) /
				    number_of(r, METRIC_CPU_INSTRUCTIONS) * 1000,
			    "LLC misses per 1,000 instructions");
	if (has_ratio(r, METRIC_CPU_FLOPS, METRIC_CPU_COUNTERS_ENABLED) &&
	    number_of(r, METRIC_CPU_FLOPS) > 0)
		add_counted(&s, r, number_of(r, METRIC_CPU_FLOPS) / enabled_ns,
			    "GFLOP/s while on CPU");
	return s.text;
}

static void add_frequency(struct sentence *s, const struct value *hertz, const char *what)
{
	if (hertz->is_known)
		sentence_add(s, ", ", "%.2f GHz %s", (double)hertz->number / 1e9, what);
}

static void add_temperature(struct sentence *s, const struct value *millicelsius, const char *what)
{
	if (millicelsius->is_known)
		sentence_add(s, ", ", "%.0f °C %s", (double)millicelsius->number / 1000, what);
}

static void add_throttles(struct sentence *s, const struct value *throttles, const char *what)
{
	if (throttles->is_known && throttles->number)
		sentence_add(s, ", ", "%s throttled %s time%s", what,
			     humanize_count(throttles->number).text,
			     throttles->number == 1 ? "" : "s");
}

char *thermal_words(const struct thermal_samples *t)
{
	struct sentence s = {};

	if (!t->samples.is_known)
		return NULL;
	add_frequency(&s, &t->frequency_hz, "on average");
	add_frequency(&s, &t->frequency_min_hz, "at least");
	add_temperature(&s, &t->temperature, "on average");
	add_temperature(&s, &t->temperature_max, "at most");
	add_throttles(&s, &t->core_throttles, "cores");
	add_throttles(&s, &t->package_throttles, "packages");
	if (s.text)
		sentence_add(&s, " ", "(%s sample%s of its CPUs)",
			     humanize_count(t->samples.number).text,
			     t->samples.number == 1 ? "" : "s");
	return s.text;
}

bool hardware_rows(const struct record *r, struct rows *rows)
{
	_cleanup_free_ char *words = hardware_words(r);

	if (words)
		rows_line(rows, ROWS_ALL, "processor", "%s", words);
	return words;
}

void thermal_rows(const struct thermal_samples *t, bool has_label, struct rows *rows)
{
	_cleanup_free_ char *words = thermal_words(t);

	if (words)
		rows_line(rows, ROWS_ALL, has_label ? NULL : "processor", "%s", words);
}
