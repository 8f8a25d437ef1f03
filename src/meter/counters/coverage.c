/* SPDX-License-Identifier: MIT */
/* What a meter says of itself in a record: what was on, what was missing, what was lost. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "counters/blocks.h"
#include "load/losses.h"
#include "basic/macro.h"
#include "load/meter.h"
#include "load/missing.h"

/* clang-format off */
static const struct {
	enum lost_reason reason;
	bool is_missing; /* a number is wrong for it; else only less is known */
	const char *words;
} reasons[] = {
	{ LOST_ROW,       false, "calls counted in (other), since the table of files was full" },
	{ LOST_HISTOGRAM, false, "calls in no histogram, since the table of histograms was full" },
	{ LOST_CLOCK,     false, "calls counted without their time" },
	{ LOST_INTERRUPTED, true, "calls that a signal ended may be missing, since the table of calls was full" },
	{ LOST_COMPAT,    true,  "calls of 32-bit programs not counted" },
	{ LOST_EXEC,      true,  "programs whose reads by the kernel, as they started, are not counted" },
	{ LOST_TASK,      true,  "ended tasks not counted, since the table of tasks was full" },
	{ LOST_LEAVING,   false, "ended tasks in no reading until they were freed, since the table of those was full" },
	{ LOST_MOVE,      false, "processes moved with their threads' earlier use" },
	{ LOST_PLACE,     false, "calls on file systems that have no name, since the table of file systems was full" },
	{ LOST_PATH,      false, "places of calls not noted, since a table was full: they stand in (unresolved)" },
	{ LOST_LIBAIO,    true,  "libaio requests not counted, since their results cannot be seen here" },
	{ LOST_FILE,      false, "calls counted only in the sum over files that were not followed" },
	{ LOST_ORDER,     false, "accesses of which is not known whether they were sequential" },
	{ LOST_SKIPPED,   true,  "io_uring requests that asked for no completion not counted where they succeeded" },
	{ LOST_REQUEST,   true,  "io_uring requests not counted, since their results cannot be told apart here" },
	{ LOST_GROUP,     false, "groups counted with the group above them, since the table of groups was full" },
	{ LOST_GUEST,     false, "groups that users made counted with the group above them, since there were so many" },
	{ LOST_FREEING,   false, "ended tasks: the last part of their CPU time is not in, since their freeing was not seen" },
	{ LOST_BASELINE,      false, "tasks not followed where they moved between groups, since the table of tasks was full" },
	{ LOST_TIME,      true,  "turns of tasks on a CPU whose time by cause is not counted, since the table of times was full" },
	{ LOST_TASK_STATE,    false, "tasks whose time by cause is not counted from their birth on, for want of memory" },
	{ LOST_POLL,      true,  "looks for work of which the number or the time is not counted, since a table was full" },
	{ LOST_TRAFFIC,   true,  "calls on sockets not counted by kind of socket, since the table of those was full" },
	{ LOST_MESSAGE,   true,  "calls or requests of several messages whose bytes are not counted, since their lengths could not be read" },
	{ LOST_CONNECTION, true, "beginnings and uses of TCP connections of which neither opening nor retransmits are counted, since the table of those was full" },
	{ LOST_ACCEPT,    true,  "io_uring requests to accept connections, which are not counted as accepted" },
	{ LOST_SYSCALL,   false, "system calls counted without their time: begun unseen, or the table of calls was full" },
	{ LOST_SYSCALL_ROW, true, "system calls not counted by name, since the table of those was full" },
	{ LOST_BLOCK_ROW, true,  "requests to block devices not counted, since the table of those was full" },
	{ LOST_BLOCK_END, false, "requests to block devices counted without their time, since their end was not seen" },
	{ LOST_BLOCK_REQUEST, true, "requests to block devices not counted, since too many were on their way at once" },
	{ LOST_THREADS,      false, "processes that may have been the busiest, whose threads were not looked at" },
	{ LOST_OOM_KILL,    false, "processes that were killed for want of memory and are not named, since the table of them was full" },
};
/* clang-format on */

/* Programs that the kernel skipped only add a place to a call, or a count that nothing else has. */
static int describe_skipped(uint64_t n, struct record *record)
{
	if (!n)
		return 0;
	record->coverage.lost_events += n;
	return strings_add(
		&record->coverage.notes,
		"%" PRIu64 " looks were skipped by the kernel, which preempts programs: calls "
		"by path may stand beside their mount, and libaio's and requests to block devices may be missing",
		n);
}

int losses_describe(const struct losses *l, struct record *record)
{
	int skipped = describe_skipped(l->counts[LOSS_SKIPPED], record);

	for (size_t i = 0; skipped >= 0 && i < ARRAY_SIZE(reasons); i++) {
		uint64_t n = l->counts[reasons[i].reason];
		int r;

		if (!n)
			continue;
		record->coverage.lost_events += n;
		r = strings_add(reasons[i].is_missing ? &record->coverage.missing
						      : &record->coverage.notes,
				"%" PRIu64 " %s", n, reasons[i].words);
		if (r < 0)
			return r;
	}
	return skipped;
}

struct tier_state {
	size_t hooks, off;
	const struct hook *first_off;
};

static struct tier_state state_of(const struct meter *m, const char *tier)
{
	struct tier_state state = {};
	size_t count;
	const struct hook *hooks = meter_hooks(m, &count);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(hooks[i].tier, tier) != 0)
			continue;
		state.hooks++;
		if (hooks[i].is_on)
			continue;
		state.off++;
		state.first_off = state.first_off ? state.first_off : &hooks[i];
	}
	return state;
}

static int describe_hooks(const struct meter *m, const char *tier, struct record *record)
{
	size_t count;
	const struct hook *hooks = meter_hooks(m, &count);

	return missing_list(hooks, count, tier, &record->coverage.missing);
}

/* Of a node's jobs some always are on their way. */
static int describe_unended(const struct meter *m, struct record *record)
{
	size_t n = meter_opened_with(m)->has_groups ? 0 : blocks_unended(meter_objects(m));

	if (!n)
		return 0;
	record->coverage.lost_events += n;
	return strings_add(
		&record->coverage.missing,
		"%zu requests to block devices not counted, which had not ended or were not seen to",
		n);
}

static bool is_all_off(const struct tier_state *state)
{
	return state->first_off && state->off == state->hooks;
}

/* @gives: what no hook of the tier gives, where all are off. */
static int describe_tier(const struct meter *m, const char *tier, const char *gives,
			 struct record *record)
{
	struct tier_state state = state_of(m, tier);
	int r;

	if (is_all_off(&state))
		return strings_add(&record->coverage.missing, "%s: %s", gives,
				   state.first_off->why);
	r = strings_add(&record->coverage.tiers, "%s", tier);
	return r < 0 ? r : describe_hooks(m, tier, record);
}

/* Why all of them are off, where it is one reason; else NULL. */
static const char *why_all_off(const struct meter *m)
{
	const struct hook *first = NULL;

	for (size_t i = 0; i < meter_tier_count; i++) {
		struct tier_state state = state_of(m, meter_tiers[i].name);

		if (!is_all_off(&state) || (first && strcmp(first->why, state.first_off->why) != 0))
			return NULL;
		first = state.first_off;
	}
	return first ? first->why : NULL;
}

static int describe_tiers(const struct meter *m, struct record *record)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < meter_tier_count; i++)
		r = describe_tier(m, meter_tiers[i].name, meter_tiers[i].missing, record);
	return r;
}

int meter_describe(const struct meter *m, const struct losses *losses, struct record *record)
{
	struct losses all;
	struct tier_state t2 = state_of(m, "T2");
	const char *why = why_all_off(m);
	int r;

	if (why)
		r = strings_add(&record->coverage.missing,
				"files by mount and waiting for a CPU: %s", why);
	else
		r = describe_tiers(m, record);
	if (r >= 0) /* on demand: without it there is none in the list */
		r = describe_hooks(m, "T3", record);
	if (why)
		return r;
	if (r >= 0 && !is_all_off(&t2))
		r = describe_hooks(m, "T2+", record);
	if (r >= 0)
		r = describe_unended(m, record);
	if (!losses) {
		losses_sum(m, &all);
		losses = &all;
	}
	return r < 0 ? r : losses_describe(losses, record);
}
