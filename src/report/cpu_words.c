/* SPDX-License-Identifier: MIT */
#include "report/cpu_words.h"

#include "basic/humanize.h"
#include "model/record.h"
#include "report/sentence.h"

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
