/* SPDX-License-Identifier: MIT */
#include "node/governor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/decimal.h"
#include "basic/error.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "model/record.h"

#define MILLION UINT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)
#define COST_PERCENT 3 /* of a core: less is not given as a number */
#define SPANS_MAX 256 /* beyond that, the first two are joined */

struct span {
	uint64_t from_ns, to_ns; /* 0: not over yet */
};

struct governor {
	struct own_costs *last; /* NULL: nothing was fed */
	size_t cpus;
	uint64_t last_boot_ns;
	uint64_t calm_since_ns; /* 0: it is not */
	unsigned int over; /* readings, one after the other */
	uint64_t over_since_ns;
	struct span *spans;
	size_t span_count;
	uint64_t calls, cost_ns, worst;
};

static bool is_unclocked(const struct governor *g)
{
	return g->span_count && !g->spans[g->span_count - 1].to_ns;
}

static void begin_span(struct governor *g, uint64_t from_ns)
{
	if (g->span_count == SPANS_MAX) {
		g->spans[1].from_ns = g->spans[0].from_ns;
		memmove(g->spans, g->spans + 1, --g->span_count * sizeof(*g->spans));
	}
	g->spans[g->span_count++] = (struct span){ .from_ns = from_ns };
}

struct governor *governor_new(uint64_t unclocked_ns)
{
	struct governor *g = calloc(1, sizeof(*g));

	if (g)
		g->spans = calloc(SPANS_MAX, sizeof(*g->spans));
	if (!g || !g->spans)
		return governor_free(g);
	if (unclocked_ns)
		begin_span(g, unclocked_ns);
	return g;
}

struct governor *governor_free(struct governor *g)
{
	if (!g)
		return NULL;
	free(g->last);
	free(g->spans);
	free(g);
	return NULL;
}

/* ---- what it cost ---- */

/* A run between two readings took as long as those of them that were timed, or else as all that
 * were. */
static uint64_t cost_of(const struct own_cost *now, const struct own_cost *before, uint64_t run_ns)
{
	uint64_t runs = now->runs - before->runs, timed = now->timed - before->timed;
	uint64_t timed_ns = timed ? now->timed_ns - before->timed_ns : now->timed_ns;

	timed = timed ? timed : now->timed;
	timed_ns -= MIN(timed_ns, timed * run_ns);
	return timed ? (uint64_t)((unsigned __int128)runs * timed_ns / timed) : 0;
}

static uint64_t cost_of_cpu(const struct own_costs *now, const struct own_costs *before,
			    const struct own_bases *bases)
{
	uint64_t cost = (now->programs[OWN_ENTER].runs - before->programs[OWN_ENTER].runs) *
			bases->call_ns;

	for (size_t i = 0; i < OWN_COUNT; i++)
		cost += cost_of(&now->programs[i], &before->programs[i], bases->run_ns);
	return cost;
}

static int remember(struct governor *g, const struct governor_feed *feed)
{
	struct own_costs *copy = reallocarray(g->last, feed->cpus + 1, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, feed->costs, feed->cpus * sizeof(*copy));
	g->last = copy;
	g->cpus = feed->cpus;
	g->last_boot_ns = feed->boot_ns;
	return 0;
}

/* ---- what follows from it ---- */

static void judge(struct governor *g, const struct governor_feed *feed)
{
	bool is_calm = g->worst * 2 < feed->budget;

	g->over = g->worst > feed->budget ? g->over + 1 : 0;
	g->over_since_ns = g->over > 1 ? g->over_since_ns : feed->boot_ns;
	if (!is_calm)
		g->calm_since_ns = 0;
	else if (!g->calm_since_ns)
		g->calm_since_ns = feed->boot_ns;
	if (!is_unclocked(g) && g->over >= GOVERNOR_OVER_READINGS &&
	    feed->boot_ns - g->over_since_ns >= GOVERNOR_OVER_NS) {
		begin_span(g, feed->boot_ns);
	} else if (is_unclocked(g) && is_calm &&
		   feed->boot_ns - g->calm_since_ns >= GOVERNOR_CALM_NS) {
		g->spans[g->span_count - 1].to_ns = feed->boot_ns;
		g->over = 0;
	}
}

int governor_feed(struct governor *g, const struct governor_feed *feed, uint64_t *ret_unclocked_ns)
{
	int r = 0;

	if (g->last && feed->cpus == g->cpus &&
	    feed->boot_ns < g->last_boot_ns + GOVERNOR_SHORTEST_NS)
		goto out;
	if (g->last && feed->cpus == g->cpus) {
		g->worst = 0;
		for (size_t cpu = 0; cpu < feed->cpus; cpu++) {
			const struct own_costs *now = &feed->costs[cpu], *before = &g->last[cpu];
			uint64_t cost = cost_of_cpu(now, before, &feed->bases);

			g->calls += now->programs[OWN_ENTER].runs -
				    before->programs[OWN_ENTER].runs;
			g->cost_ns += cost;
			g->worst = MAX(g->worst, (uint64_t)((unsigned __int128)cost * MILLION /
							    (feed->boot_ns - g->last_boot_ns)));
		}
		judge(g, feed);
	}
	r = remember(g, feed);
out:
	*ret_unclocked_ns = is_unclocked(g) ? g->spans[g->span_count - 1].from_ns : 0;
	return r;
}

uint64_t governor_unclocked(const struct governor *g, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < g->span_count; i++) {
		uint64_t from = MAX(g->spans[i].from_ns, from_ns);
		uint64_t to = MIN(g->spans[i].to_ns ? g->spans[i].to_ns : UINT64_MAX, to_ns);

		sum += to > from ? to - from : 0;
	}
	return sum;
}

struct governor_state governor_state(const struct governor *g, uint64_t boot_ns)
{
	return (struct governor_state){ .calls = g->calls,
					.cost_ns = g->cost_ns,
					.unclocked_total_ns = governor_unclocked(g, 0, boot_ns),
					.worst = g->worst };
}

/* ---- of the programs ---- */

static void tell_change(const struct governor *g, uint64_t budget, bool is_unclocked,
			struct error *news)
{
	char limit[DECIMAL_SIZE], worst[DECIMAL_SIZE];

	decimal_format(limit, budget, 4);
	decimal_format(worst, governor_state(g, 0).worst, 4);
	if (is_unclocked)
		error_set(
			news, 0,
			"the programs take %s%% of a core, and may take %s%% (budget): from now on no times of calls on "
			"files are taken",
			worst, limit);
	else
		error_set(
			news, 0,
			"the programs take %s%% of a core: times of calls on files are taken again",
			worst);
}

int governor_hold(struct governor *g, const struct objects *objects, uint64_t budget,
		  uint64_t boot_ns, struct error *news)
{
	_cleanup_free_ struct own_costs *costs = NULL;
	struct governor_feed feed = { .boot_ns = boot_ns,
				      .budget = budget,
				      .bases = own_costs_bases(objects) };
	uint64_t since_ns;
	int r = own_costs_read(objects, &costs, &feed.cpus);

	if (r < 0)
		return r;
	feed.costs = costs;
	r = governor_feed(g, &feed, &since_ns);
	if (r < 0 || since_ns == own_costs_unclocked(objects))
		return r;
	own_costs_set_unclocked(objects, since_ns);
	tell_change(g, budget, since_ns, news);
	return 0;
}

int governor_describe(const struct governor *g, uint64_t from_ns, uint64_t to_ns,
		      struct record *record)
{
	uint64_t ns = governor_unclocked(g, from_ns, to_ns);

	if (!ns)
		return 0;
	/* a mount has times if any of its calls was timed, or if there were none */
	for (size_t i = 0; i < record->reading.mount_count; i++) {
		struct op_counts sum = {};

		for (size_t op = 0; op < OP_COUNT; op++)
			op_counts_add(&sum, &record->reading.mounts[i].ops[op]);
		record->reading.mounts[i].has_seconds &= sum.ns || !sum.calls;
	}
	return strings_add(
		&record->coverage.notes,
		RECORD_NOTE_TIMES
		", since they were not taken for %s: the meter would have cost more than its "
		"budget",
		humanize_duration(ns).text);
}

int governor_describe_cost(const struct objects *objects, struct record *record)
{
	static const struct own_costs nothing;
	const struct own_bases bases = own_costs_bases(objects);
	const uint64_t elapsed_ns = record->time.elapsed_ns;
	_cleanup_free_ struct own_costs *costs = NULL;
	uint64_t cost_ns = 0;
	size_t cpus = 0;
	int r = own_costs_read(objects, &costs, &cpus);

	if (r < 0 || !cpus || elapsed_ns < SECOND_NS)
		return r;
	for (size_t cpu = 0; cpu < cpus; cpu++)
		cost_ns += cost_of_cpu(&costs[cpu], &nothing, &bases);
	if (cost_ns < elapsed_ns * COST_PERCENT / 100)
		return strings_add(&record->coverage.notes,
				   RECORD_NOTE_METERING "less than %d %% of a core", COST_PERCENT);
	return strings_add(&record->coverage.notes,
			   RECORD_NOTE_METERING "about %s of CPU time, %s of a core",
			   humanize_duration(cost_ns).text,
			   humanize_percent((double)cost_ns / (double)elapsed_ns).text);
}
