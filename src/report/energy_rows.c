/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/correlation.h"
#include "analysis/formula.h"
#include "analysis/rates.h"
#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "model/record.h"
#include "model/rows.h"
#include "model/sections/energy.h"
#include "report/record_rows.h"

#define UJ_OF_A_J 1e6
#define NS_OF_AN_HOUR 3600e9
#define GB 1e9

static bool is_estimate(const struct energy *e)
{
	return energy_quality(e) >= ENERGY_ESTIMATED;
}

/* ---- the first screen ---- */

/* What was estimated from. */
static const char *basis_of(const struct energy *e)
{
	static const struct {
		const char *source, *words;
	} bases[] = {
		{ "specpower", "the CPU model" },
		{ "specpower-family", "the CPU family" },
		{ "tdp", "the CPU's TDP" },
	};

	for (size_t i = 0; i < e->count; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(bases); k++) {
			if (e->items[i].uj && strcmp(e->items[i].source, bases[k].source) == 0)
				return bases[k].words;
		}
	}
	return NULL;
}

void energy_row(const struct record *r, struct rows *rows)
{
	const struct value *joules = record_value(r, METRIC_ENERGY);
	const struct energy *e = energy_of(r);
	const struct value uncertainty = energy_uncertainty(e);

	if (!joules->is_known || !e->is_known || !e->count)
		return;
	rows_line(rows, ROWS_FIRST, "Energy", "%s%s", is_estimate(e) ? "~" : "",
		  humanize_energy(joules->number).text);
	if (is_estimate(e) && basis_of(e)) {
		rows_say(rows, "  ", "estimated from %s", basis_of(e));
	} else {
		size_t said = 0;

		rows_say(rows, "  ", "its share of what was measured by");
		for (size_t i = 0; i < e->count; i++) {
			bool is_said = false;

			for (size_t k = 0; k < i; k++)
				is_said |= strcmp(e->items[k].source, e->items[i].source) == 0;
			if (!is_said && e->items[i].uj)
				rows_say(rows, said++ ? " and " : " ", "%s", e->items[i].source);
		}
	}
	if (uncertainty.is_known)
		rows_say(rows, ", ", "±%.0f %%", (double)uncertainty.number / 10);
	if (r->merged_records > r->merged_nodes && record_value(r, METRIC_ENERGY_IDLE)->number)
		rows_say(rows, "; ", "each record may have the same idle power");
}

/* ---- the rest ---- */

static void add_power(const struct record *r, struct rows *rows)
{
	const double joules = (double)record_value(r, METRIC_ENERGY)->number / UJ_OF_A_J;
	const double watts = r->time.elapsed_ns ? joules / ((double)r->time.elapsed_ns / 1e9) : -1;
	const struct value *idle = record_value(r, METRIC_ENERGY_IDLE);
	const struct energy *e = energy_of(r);

	rows_begin(rows, ROWS_ALL, "power");
	if (watts >= 0)
		rows_say(rows, "", watts < 1000 ? "%s%.3g W on average" : "%s%.0f W on average",
			 is_estimate(e) ? "~" : "", watts);
	if (idle->is_known && joules > 0)
		rows_say(rows, ", ", "%s of it the node's idle power (policy %s)",
			 humanize_percent((double)idle->number / UJ_OF_A_J / joules).text,
			 e->items[0].idle_policy);
}

static void add_components(const struct record *r, struct rows *rows)
{
	static const char *const names[ENERGY_PART_COUNT] = {
		[ENERGY_ALL] = "the rest of the node",
		[ENERGY_PACKAGE] = "processors",
		[ENERGY_MEMORY] = "memory",
		[ENERGY_GPU] = "GPUs",
	};
	const struct energy *e = energy_of(r);
	uint64_t uj;

	if (!energy_has_components(e))
		return;
	rows_begin(rows, ROWS_ALL, "energy by part");
	for (size_t i = 0; i < e->count; i++) {
		if (names[e->items[i].part] && energy_of_component(e, i, &uj))
			rows_say(rows, ", ", "%s %s", names[e->items[i].part],
				 humanize_energy(uj).text);
	}
}

/* What was had for it. */
static void add_yield(const struct record *r, struct rows *rows)
{
	const struct value *cores = record_value(r, METRIC_CPU_ALLOCATED),
			   *flops = record_value(r, METRIC_CPU_FLOPS),
			   *instructions = record_value(r, METRIC_CPU_INSTRUCTIONS);
	const double uj = (double)record_value(r, METRIC_ENERGY)->number;
	const char *about = is_estimate(energy_of(r)) ? "~" : "";
	uint64_t read = 0, written = 0;
	double hours;

	rows_begin(rows, ROWS_ALL, "energy per");
	hours = (double)cores->number / 1000 * (double)r->time.elapsed_ns / NS_OF_AN_HOUR;
	if (cores->is_known && hours > 0)
		rows_say(rows, ", ", "%s%s a core-hour", about,
			 humanize_energy((uint64_t)(uj / hours)).text);
	if (formula_data_total(r, METRIC_READ_BYTES, &read) &&
	    formula_data_total(r, METRIC_WRITE_BYTES, &written) && read + written >= GB / 1000)
		rows_say(rows, ", ", "%s%s a GB read or written", about,
			 humanize_energy((uint64_t)(uj / ((double)(read + written) / GB))).text);
	if (flops->is_known && flops->number && uj > 0)
		rows_say(rows, ", ", "%s%.3g GFLOP a joule", about,
			 (double)flops->number / 1e9 / (uj / UJ_OF_A_J));
	if (instructions->is_known && instructions->number && uj > 0)
		rows_say(rows, ", ", "%s%.3g billion instructions a joule", about,
			 (double)instructions->number / 1e9 / (uj / UJ_OF_A_J));
}

/* ---- power and work, bucket by bucket ---- */

static void say_correlation(const double *x, const double *values, size_t count, const char *what,
			    const char *about, struct rows *rows)
{
	struct correlation c;

	if (correlation_of(x, values, count, &c))
		rows_say(rows, ", ", "with %s r = %s%.2f (n = %zu)", what, about,
			 round(c.r * 100) / 100 + 0.0, c.n); /* and no minus before 0 */
}

/* Power that was estimated is CPU time in another unit. */
static void add_power_and_work(const struct record *r, const struct rates *rates, const double *io,
			       struct rows *rows)
{
	const bool is_estimated = is_estimate(energy_of(r));
	const double *power = rates->of[RATE_POWER];

	if (!rates->is_known[RATE_POWER])
		return;
	rows_begin(rows, ROWS_ALL, "power and work");
	if (!is_estimated) {
		say_correlation(power, rates->of[RATE_ON_CPU], rates->count, "cores in use", "",
				rows);
		say_correlation(power, rates->of[RATE_INSTRUCTIONS], rates->count,
				"instructions a second", "", rows);
	}
	say_correlation(power, io, rates->count, "bytes read and written a second",
			is_estimated ? "~" : "", rows);
	if (!is_estimated && rows_has_said(rows))
		rows_line(rows, ROWS_ALL, NULL,
			  "power was divided between the node's jobs by their work: where the job "
			  "was not alone, r is higher by that");
}

/* Speed of the job against frequency and temperature of its CPUs: instructions a second, or bytes
 * if those were not counted. */
static void add_work_and_heat(const struct rates *rates, const double *io, struct rows *rows)
{
	const bool has_instructions = rates->is_known[RATE_INSTRUCTIONS];
	const double *work = has_instructions ? rates->of[RATE_INSTRUCTIONS] : io;

	rows_begin(rows, ROWS_ALL, has_instructions ? "instructions a second" : "bytes a second");
	say_correlation(work, rates->of[RATE_FREQUENCY], rates->count, "the CPUs' frequency", "",
			rows);
	say_correlation(work, rates->of[RATE_TEMPERATURE], rates->count, "their temperature", "",
			rows);
	say_correlation(work, rates->of[RATE_THROTTLES], rates->count, "throttles a second", "",
			rows);
}

static void add_correlations(const struct record *r, bool has_energy, struct rows *rows)
{
	_cleanup_free_ struct rates *rates = malloc(sizeof(*rates));
	double io[TIMELINE_BUCKETS_MAX];

	if (!rates)
		return;
	rates_take(r, rates);
	for (size_t i = 0; i < rates->count; i++)
		io[i] = rates_io(rates, i);
	if (has_energy)
		add_power_and_work(r, rates, io, rows);
	add_work_and_heat(rates, io, rows);
}

void energy_rows(const struct record *r, struct rows *rows)
{
	const bool has_energy = record_value(r, METRIC_ENERGY)->is_known && energy_of(r)->count;

	if (has_energy) {
		add_power(r, rows);
		add_components(r, rows);
		add_yield(r, rows);
	}
	add_correlations(r, has_energy, rows);
}
