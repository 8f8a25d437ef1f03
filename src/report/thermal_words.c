/* SPDX-License-Identifier: MIT */
#include "thermal_words.h"

#include "humanize.h"
#include "record.h"
#include "sentence.h"

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
		sentence_add(s, ", ", "%s throttled %s time%s", what, humanize_count(throttles->number).text,
			     throttles->number == 1 ? "" : "s");
}

char *thermal_words(const struct record *r)
{
	const struct thermal_samples *t = &r->thermal;
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
		sentence_add(&s, " ", "(%s sample%s of the CPUs that it may use)",
			     humanize_count(t->samples.number).text, t->samples.number == 1 ? "" : "s");
	return s.text;
}
