/* SPDX-License-Identifier: MIT */
#include "analysis/efficiency.h"

#include <math.h>
#include <stdio.h>

#include "analysis/billing.h"
#include "model/document.h"
#include "model/record.h"

static const char *const chain_names[CHAIN_COUNT] = { "used", "balance", "not_blocked",
						      "not_waiting", "other" };
static const char *const resource_names[RESOURCE_COUNT] = { "cores", "memory" };

const char *resource_name(enum resource resource)
{
	return resource_names[resource];
}

static void take_uses(struct efficiency *e, const struct record *r)
{
	struct use *cores = &e->uses[RESOURCE_CORES], *memory = &e->uses[RESOURCE_MEMORY];
	const struct value *values = r->reading.values;
	uint64_t millicores;

	if (record_cores_busy(r, &millicores))
		cores->used = amount_of((double)millicores / 1000);
	cores->allocated = amount_of_value(METRIC_CPU_ALLOCATED, &values[METRIC_CPU_ALLOCATED]);
	if (e->core_time.is_known && e->core_time.core > 0)
		cores->share = amount_of(e->core_time.on_cpu / e->core_time.core);
	memory->used = amount_of_value(METRIC_MEMORY_PEAK, &values[METRIC_MEMORY_PEAK]);
	memory->allocated = amount_of_value(METRIC_MEMORY_LIMIT, &values[METRIC_MEMORY_LIMIT]);
	if (record_reached_memory_limit(r))
		memory->used = memory->allocated;
	if (r->merged_records <= 1) /* else a peak of one is compared with limits of all */
		memory->share = amount_divide(memory->used, memory->allocated);
}

/* What is left of each step of the core time: lost to causes, then to waiting for a CPU, or for one
 * that was stolen. */
static void take_losses(struct efficiency *e)
{
	const struct core_time *t = &e->core_time;
	double waiting = t->lost[LOST_RUN_QUEUE] + t->lost[LOST_STOLEN], busy = t->on_cpu + waiting,
	       blocked = 0;

	if (!t->has_causes)
		return;
	for (size_t cause = 0; cause < CAUSE_COUNT; cause++)
		blocked += t->lost[cause];
	e->chain[CHAIN_NOT_BLOCKED] = amount_of(busy / (busy + blocked));
	e->chain[CHAIN_NOT_WAITING] = amount_of(t->on_cpu / busy);
}

static void take_chain(struct efficiency *e, const struct record *r)
{
	const struct value *touched = &r->cores.count, *balance = &r->cores.balance;
	struct amount product = { 1, true };

	if (touched->is_known)
		e->chain[CHAIN_USED] = amount_divide(amount_of((double)touched->number),
						     e->uses[RESOURCE_CORES].allocated);
	if (balance->is_known)
		e->chain[CHAIN_BALANCE] = amount_of((double)balance->number / LOAD_BALANCE_ONE);
	take_losses(e);
	for (size_t i = 0; i < CHAIN_OTHER; i++) {
		product.is_known &= e->chain[i].is_known;
		product.number *= e->chain[i].number;
	}
	e->chain[CHAIN_OTHER] = amount_divide(e->uses[RESOURCE_CORES].share, product);
}

static void take_coverage(struct efficiency *e)
{
	const struct {
		bool is_known;
		const char *name;
	} parts[EFFICIENCY_PARTS] = {
		{ e->uses[RESOURCE_CORES].share.is_known, "cores" },
		{ e->uses[RESOURCE_MEMORY].share.is_known, "memory" },
		{ e->chain[CHAIN_USED].is_known, "cores touched" },
		{ e->chain[CHAIN_BALANCE].is_known, "balance" },
		{ e->core_time.has_causes, "causes" },
	};

	for (size_t i = 0; i < EFFICIENCY_PARTS; i++) {
		if (!parts[i].is_known)
			e->missing[e->missing_count++] = parts[i].name;
	}
	e->coverage = amount_of(1 - (double)e->missing_count / EFFICIENCY_PARTS);
}

/* The bill, and 100 times its used part. A resource with an unknown part is not on it. */
static void take_score(struct efficiency *e)
{
	static const double cores_alone[RESOURCE_COUNT] = { [RESOURCE_CORES] = 1 };
	const double *weights = e->billing ? e->billing->weights : cores_alone;
	double bill[RESOURCE_COUNT] = {}, whole = 0, used = 0;

	for (size_t i = 0; i < RESOURCE_COUNT; i++) {
		const struct use *use = &e->uses[i];

		if (!use->share.is_known || !use->allocated.is_known)
			continue;
		bill[i] = weights[i] * use->allocated.number;
		whole += bill[i];
		used += bill[i] * fmin(1, use->share.number);
	}
	if (whole <= 0)
		return;
	e->score = amount_of(100 * used / whole);
	for (size_t i = 0; i < RESOURCE_COUNT; i++) {
		if (bill[i] > 0)
			e->parts[i] = amount_of(bill[i] / whole);
	}
}

const char *efficiency_basis(const struct efficiency *e)
{
	return e->billing ? ", as billed" : "";
}

struct efficiency efficiency_of(const struct record *r, const struct billing *billing)
{
	struct efficiency e = { .core_time = core_time_of(r), .billing = billing };

	take_uses(&e, r);
	take_chain(&e, r);
	take_coverage(&e);
	take_score(&e);
	return e;
}

/* ---- writing ---- */

static void format_seconds(const char *key, bool is_known, double seconds, struct document *d)
{
	amount_put(d, key, is_known ? amount_of(seconds) : (struct amount){});
}

static void format_use(const char *name, const char *unit, const struct use *use,
		       struct document *d)
{
	char key[32];

	document_begin_flat_map_of(d, name);
	snprintf(key, sizeof(key), "used_%s", unit);
	amount_put(d, key, use->used);
	snprintf(key, sizeof(key), "allocated_%s", unit);
	amount_put(d, key, use->allocated);
	amount_put(d, "share", use->share);
	document_end_map(d);
}

/* What the score is weighted by; null: it is that of the cores alone. */
static void format_billing(const struct efficiency *e, struct document *d)
{
	document_key(d, "billing");
	if (!e->billing) {
		document_null(d);
		return;
	}
	document_begin_map(d);
	document_put_string(d, "weights", e->billing->text);
	document_put_string(d, "partition", e->billing->partition);
	document_begin_flat_map_of(d, "parts");
	for (size_t i = 0; i < RESOURCE_COUNT; i++)
		amount_put(d, resource_names[i], e->parts[i]);
	document_end_map(d);
	document_begin_flat_list_of(d, "left_out");
	for (size_t i = 0; i < e->billing->left_out_count; i++)
		document_string(d, e->billing->left_out[i]);
	document_end_list(d);
	document_end_map(d);
}

static void format_core_time(const struct core_time *t, struct document *d)
{
	document_begin_map_of(d, "core_time");
	format_seconds("seconds", t->is_known, t->core, d);
	format_seconds("on_cpu_seconds", t->is_known, t->on_cpu, d);
	document_begin_flat_map_of(d, "lost");
	for (size_t cause = 0; cause < LOST_COUNT; cause++) {
		char key[48];

		if (!lost_can_be(cause))
			continue;
		snprintf(key, sizeof(key), "%s_seconds", lost_name(cause));
		format_seconds(key, cause == LOST_STOLEN ? t->knows_stolen : t->has_causes,
			       t->lost[cause], d);
	}
	document_end_map(d);
	format_seconds("idle_seconds", t->has_causes, t->idle, d);
	document_put_unsigned(d, "intervals", t->intervals);
	document_end_map(d);
}

void efficiency_format(const struct efficiency *e, struct document *d)
{
	document_begin_map(d);
	document_put_unsigned(d, "formula", EFFICIENCY_FORMULA);
	amount_put(d, "score", e->score);
	format_billing(e, d);
	amount_put(d, "coverage", e->coverage);
	document_begin_flat_list_of(d, "missing");
	for (size_t i = 0; i < e->missing_count; i++)
		document_string(d, e->missing[i]);
	document_end_list(d);
	format_use("cores", "cores", &e->uses[RESOURCE_CORES], d);
	format_use("memory", "bytes", &e->uses[RESOURCE_MEMORY], d);
	document_begin_flat_map_of(d, "chain");
	for (size_t i = 0; i < CHAIN_COUNT; i++)
		amount_put(d, chain_names[i], e->chain[i]);
	document_end_map(d);
	format_core_time(&e->core_time, d);
	document_end_map(d);
}
