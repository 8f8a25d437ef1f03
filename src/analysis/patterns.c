/* SPDX-License-Identifier: MIT */
#include "analysis/patterns.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/macro.h"
#include "analysis/pattern_internal.h"
#include "model/record.h"

/* ---- tables ---- */

/* clang-format off */
static const struct pattern_name counts[PATTERN_KINDS] = {
	[PATTERN_PHASE] = { "pattern_phases", DIMENSION_NUMBER, "Phases of CPU and I/O rate; 0: they change nowhere at once." },
	[PATTERN_CHECKPOINTS] = { "pattern_checkpoints", DIMENSION_NUMBER, "Bursts of writes that keep a period." },
	[PATTERN_IDLE_TAIL] = { "pattern_idle_tails", DIMENSION_NUMBER, "1: nothing was done from some moment to the end; else 0." },
	[PATTERN_HANG] = { "pattern_hangs", DIMENSION_NUMBER, "1: nothing was done for long after work; else 0." },
	[PATTERN_LEAK] = { "pattern_leaks", DIMENSION_NUMBER, "1: memory grew along a line; else 0." },
	[PATTERN_DIED_INSIDE] = { "pattern_died_inside", DIMENSION_NUMBER, "1: next to no CPU time from some moment on; else 0." },
};

static const struct number {
	enum pattern_kind kind;
	const char *key; /* in a record */
	struct pattern_name name; /* NULL: none */
} numbers[PATTERN_NUMBERS] = {
	[PHASE_CORES] = { PATTERN_PHASE, "cores", { NULL, DIMENSION_NUMBER, NULL } },
	[PHASE_READ_RATE] = { PATTERN_PHASE, "read_bytes_per_second", { NULL, DIMENSION_RATE, NULL } },
	[PHASE_WRITE_RATE] = { PATTERN_PHASE, "write_bytes_per_second", { NULL, DIMENSION_RATE, NULL } },
	[CHECKPOINT_COUNT] = { PATTERN_CHECKPOINTS, "count", { NULL, DIMENSION_NUMBER, NULL } },
	[CHECKPOINT_PERIOD] = { PATTERN_CHECKPOINTS, "period_seconds", { "pattern_checkpoint_period_seconds", DIMENSION_SECONDS, "Time from one checkpoint to the next." } },
	[CHECKPOINT_DURATION] = { PATTERN_CHECKPOINTS, "duration_seconds", { "pattern_checkpoint_duration_seconds", DIMENSION_SECONDS, "Mean duration of a checkpoint, in whole buckets." } },
	[CHECKPOINT_BYTES] = { PATTERN_CHECKPOINTS, "bytes", { "pattern_checkpoint_bytes", DIMENSION_BYTES, "Mean bytes written by a checkpoint." } },
	[CHECKPOINT_COST] = { PATTERN_CHECKPOINTS, "cost_seconds", { "pattern_checkpoint_cost_seconds", DIMENSION_SECONDS, "Time that checkpoints cost: CPU time missing during them, over the CPU rate outside." } },
	[CHECKPOINT_COST_SHARE] = { PATTERN_CHECKPOINTS, "cost_share", { "pattern_checkpoint_cost_share", DIMENSION_SHARE, "Cost of the checkpoints as a share of the time that the timeline covers." } },
	[CHECKPOINT_LOST] = { PATTERN_CHECKPOINTS, "lost_core_seconds", { "pattern_checkpoint_lost_core_seconds", DIMENSION_SECONDS, "CPU time missing during checkpoints." } },
	[IDLE_TAIL_SECONDS] = { PATTERN_IDLE_TAIL, "seconds", { "pattern_idle_tail_seconds", DIMENSION_SECONDS, "Length of an idle tail: time without work up to the end." } },
	[IDLE_TAIL_SHARE] = { PATTERN_IDLE_TAIL, "share", { "pattern_idle_tail_share", DIMENSION_SHARE, "Share of the elapsed time in the idle tail." } },
	[IDLE_TAIL_LOST] = { PATTERN_IDLE_TAIL, "lost_core_seconds", { "pattern_idle_tail_core_seconds", DIMENSION_SECONDS, "Core time of the idle tail." } },
	[HANG_SECONDS] = { PATTERN_HANG, "seconds", { "pattern_hang_seconds", DIMENSION_SECONDS, "Longest time without work after work." } },
	[HANG_CORES_BEFORE] = { PATTERN_HANG, "cores_before", { "pattern_hang_cores_before", DIMENSION_NUMBER, "Cores that were busy before the hang." } },
	[HANG_TO_END] = { PATTERN_HANG, "to_end", { "pattern_hang_to_end", DIMENSION_NUMBER, "1 if the job did not continue after the hang, else 0." } },
	[LEAK_RATE] = { PATTERN_LEAK, "bytes_per_second", { "pattern_leak_bytes_per_second", DIMENSION_RATE, "Rate at which memory grew." } },
	[LEAK_GROWTH] = { PATTERN_LEAK, "growth_bytes", { "pattern_leak_growth_bytes", DIMENSION_BYTES, "Growth of memory in the second half of the job." } },
	[LEAK_LIMIT_SECONDS] = { PATTERN_LEAK, "limit_seconds", { "pattern_leak_limit_seconds", DIMENSION_SECONDS, "Time from the end of the record until memory reaches its limit; for a single record only." } },
	[HOMOGENEITY] = { PATTERN_DIED_INSIDE, "homogeneity", { "pattern_homogeneity", DIMENSION_NUMBER, "1 - 1/(1 + 1000 c), where c is the smallest ratio of the CPU rate after a moment to that before it." } },
};
/* clang-format on */

const struct pattern_name *pattern_name(size_t i)
{
	const struct pattern_name *name;

	assert(i < PATTERN_NAMES);
	name = i < PATTERN_KINDS ? &counts[i] : &numbers[i - PATTERN_KINDS].name;
	return name->name ? name : NULL;
}

struct amount pattern_amount(const struct patterns *patterns, size_t i)
{
	if (!patterns)
		return (struct amount){};
	return i < PATTERN_KINDS ? patterns->counts[i] : patterns->numbers[i - PATTERN_KINDS];
}

/* ---- finding ---- */

struct pattern *pattern_add(struct patterns *patterns, enum pattern_kind kind,
			    const struct rates *r, size_t first, size_t end)
{
	struct pattern *p = &patterns->items[patterns->count++];

	assert(patterns->count <= PATTERNS_MAX);
	*p = (struct pattern){ .kind = kind,
			       .from_ns = rates_time(r, first),
			       .to_ns = rates_time(r, end) };
	if (kind != PATTERN_PHASE)
		patterns->counts[kind] = amount_of(1);
	return p;
}

void pattern_begin(struct patterns *patterns, enum pattern_kind kind, const struct rates *r,
		   double seconds)
{
	patterns->counts[kind] = r->elapsed > 0 && r->elapsed < seconds ? amount_of(0)
									: (struct amount){};
}

static bool has_ended_well(const struct record *record)
{
	bool is_completed = record->job.state && strcmp(record->job.state, "COMPLETED") == 0;

	return record->is_final &&
	       ((record->job.exit_code == 0 && !record->job.signal) || is_completed);
}

/* A sum over nodes against the sum of their limits says nothing of any node. */
static double limit_of(const struct record *record)
{
	const struct value *limit = &record->reading.values[METRIC_MEMORY_LIMIT];

	return limit->is_known && record->merged_records <= 1 ? (double)limit->number : NAN;
}

static void find_all(const struct pattern_settings *s, const struct record *record,
		     const struct rates *r, struct patterns *patterns)
{
	if (s->is_asked[PATTERN_PHASE])
		find_phases(&s->phases, r, patterns);
	if (s->is_asked[PATTERN_CHECKPOINTS])
		find_checkpoints(&s->checkpoints, r, patterns);
	if (s->is_asked[PATTERN_IDLE_TAIL])
		find_idle_tail(&s->idle_tail, r, patterns);
	if (s->is_asked[PATTERN_HANG])
		find_hang(&s->hang, r, has_ended_well(record), patterns);
	if (s->is_asked[PATTERN_LEAK])
		find_leak(&s->leak, r, limit_of(record), patterns);
	if (s->is_asked[PATTERN_DIED_INSIDE])
		find_death(&s->death, r, patterns);
	/* rules may ask for numbers of kinds of which there is one at most */
	for (size_t i = 0; i < patterns->count; i++) {
		const struct pattern *p = &patterns->items[i];

		for (size_t n = 0; p->kind != PATTERN_PHASE && n < PATTERN_NUMBERS; n++) {
			if (numbers[n].kind == p->kind)
				patterns->numbers[n] = p->numbers[n];
		}
	}
}

int patterns_find(const struct pattern_settings *settings, const struct record *record,
		  struct patterns *ret)
{
	_cleanup_free_ struct rates *rates = malloc(sizeof(*rates));

	if (!rates)
		return -ENOMEM;
	rates_take(record, rates);
	*ret = (struct patterns){ .has_timeline = rates->count > 0,
				  .start_ns = record->time.start_ns ? record->time.start_ns
								    : rates->start_ns };
	if (ret->has_timeline)
		find_all(settings, record, rates, ret);
	return 0;
}

/* ---- telling ---- */

static struct human say(const struct pattern *p, enum pattern_number number)
{
	return amount_format(p->numbers[number], numbers[number].name.dimension);
}

/* "12 m 10 s": since the start of the job. */
static struct human say_time(const struct patterns *patterns, uint64_t ns)
{
	return humanize_duration(ns > patterns->start_ns ? ns - patterns->start_ns : 0);
}

char *pattern_text(const struct patterns *patterns, const struct pattern *p)
{
	char more[128] = "", *text;
	int r = -1;

	switch (p->kind) {
	case PATTERN_PHASE:
		r = asprintf(&text, "From %s to %s: %s cores, read %s, written %s.",
			     say_time(patterns, p->from_ns).text, say_time(patterns, p->to_ns).text,
			     say(p, PHASE_CORES).text, say(p, PHASE_READ_RATE).text,
			     say(p, PHASE_WRITE_RATE).text);
		break;
	case PATTERN_CHECKPOINTS:
		if (p->numbers[CHECKPOINT_COST].is_known)
			snprintf(more, sizeof(more), "; they cost %s in all (%s)",
				 say(p, CHECKPOINT_COST).text, say(p, CHECKPOINT_COST_SHARE).text);
		r = asprintf(&text, "%s bursts of writes, one each %s: %s in %s%s.",
			     say(p, CHECKPOINT_COUNT).text, say(p, CHECKPOINT_PERIOD).text,
			     say(p, CHECKPOINT_BYTES).text, say(p, CHECKPOINT_DURATION).text, more);
		break;
	case PATTERN_IDLE_TAIL:
		r = asprintf(&text, "Nothing was done in the last %s (%s), from %s on.",
			     say(p, IDLE_TAIL_SECONDS).text, say(p, IDLE_TAIL_SHARE).text,
			     say_time(patterns, p->from_ns).text);
		break;
	case PATTERN_HANG:
		r = asprintf(&text,
			     "Nothing was done for %s from %s on, after %s cores were busy%s.",
			     say(p, HANG_SECONDS).text, say_time(patterns, p->from_ns).text,
			     say(p, HANG_CORES_BEFORE).text,
			     p->numbers[HANG_TO_END].number > 0 ? "" : "; then it went on");
		break;
	case PATTERN_LEAK:
		if (p->numbers[LEAK_LIMIT_SECONDS].is_known)
			snprintf(more, sizeof(more), "; it would reach its limit %s after this",
				 say(p, LEAK_LIMIT_SECONDS).text);
		r = asprintf(&text, "Memory grew along a line, by %s: %s in the second half%s.",
			     say(p, LEAK_RATE).text, say(p, LEAK_GROWTH).text, more);
		break;
	case PATTERN_DIED_INSIDE:
		r = asprintf(&text, "Next to no CPU time from %s on (homogeneity %s).",
			     say_time(patterns, p->from_ns).text, say(p, HOMOGENEITY).text);
		break;
	case PATTERN_KINDS:
		break;
	}
	return r < 0 ? NULL : text;
}

static void format_pattern(const struct patterns *patterns, const struct pattern *p,
			   struct document *d)
{
	_cleanup_free_ char *text = pattern_text(patterns, p);

	document_begin_flat_map(d);
	document_put_string(d, "id", pattern_id(p->kind));
	document_put_time(d, "from", p->from_ns);
	document_put_time(d, "to", p->to_ns);
	for (size_t n = 0; n < PATTERN_NUMBERS; n++) {
		if (numbers[n].kind == p->kind)
			amount_put(d, numbers[n].key, p->numbers[n]);
	}
	document_put_string(d, "text", text);
	document_end_map(d);
}

void patterns_format(const struct patterns *patterns, struct document *d)
{
	if (!patterns->has_timeline) {
		document_null(d);
		return;
	}
	document_begin_list(d);
	for (size_t i = 0; i < patterns->count; i++)
		format_pattern(patterns, &patterns->items[i], d);
	document_end_list(d);
}
