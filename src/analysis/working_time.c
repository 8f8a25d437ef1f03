/* SPDX-License-Identifier: MIT */
#include "analysis/working_time.h"

#include <math.h>

#include "analysis/formula.h"
#include "model/record.h"

static bool is_flush(size_t op)
{
	return op == OP_FSYNC || op == OP_FDATASYNC || op == OP_SYNC;
}

static uint64_t inside_row(const struct mount_row *row, enum cause cause)
{
	uint64_t ns = 0;

	if (cause == CAUSE_FILE_READ)
		return row->ops[OP_READ].ns;
	if (cause == CAUSE_FILE_WRITE)
		return row->ops[OP_WRITE].ns;
	for (size_t op = OP_DATA_COUNT; op < OP_COUNT; op++)
		ns += is_flush(op) == (cause == CAUSE_SYNC) ? row->ops[op].ns : 0;
	return ns;
}

static bool is_in_calls(size_t cause)
{
	return cause == CAUSE_FILE_READ || cause == CAUSE_FILE_WRITE || cause == CAUSE_FILE_META ||
	       cause == CAUSE_SYNC;
}

/* Seconds inside calls.  False: not known. */
static bool take_inside(const struct record *r, enum cause cause, double *ret)
{
	const bool is_data = cause == CAUSE_FILE_READ || cause == CAUSE_FILE_WRITE;
	const struct reading *reading = &r->reading;
	uint64_t ns = 0;

	for (size_t i = 0; i < reading->mount_count; i++) {
		const struct mount_row *row = &reading->mounts[i];

		/* data of pipes, sockets and terminals may be waited for without loss */
		if (is_data ? !row_is_of_files(row) || row_holds_devices(row) : !row_is_own(row))
			continue;
		if (!row->has_seconds)
			return false;
		ns += inside_row(row, cause);
	}
	*ret = (double)ns / 1e9;
	return reading->has_mounts;
}

/* Moves CPU time inside calls from computing to the parts. */
static void take_calls(const struct record *r, double wanted, struct working_time *t)
{
	double unblocked[LOST_COUNT] = {}, sum = 0;

	for (size_t c = 0; c < CAUSE_COUNT; c++) {
		if (!is_in_calls(c))
			continue;
		if (!take_inside(r, (enum cause)c, &t->inside[c]))
			return;
		unblocked[c] = fmax(0, t->inside[c] - t->parts[c]);
		sum += unblocked[c];
	}
	t->knows_calls = true;
	if (!(sum > 0) || !(wanted > 0))
		return;
	for (size_t c = 0; c < CAUSE_COUNT; c++)
		t->parts[c] += unblocked[c] / fmax(sum, wanted) * t->computing;
	t->computing *= 1 - sum / fmax(sum, wanted);
}

struct working_time working_time_of(const struct record *r)
{
	struct working_time t = {};
	double wanted;
	uint64_t cpu_ns;

	if (!record_cpu_time(r, &cpu_ns) || !core_time_waits(r, t.parts))
		return t;
	t.is_known = true;
	t.seconds = t.computing = (double)cpu_ns / 1e9;
	for (size_t c = 0; c < LOST_COUNT; c++)
		t.seconds += t.parts[c];
	wanted = t.computing + t.parts[LOST_RUN_QUEUE] + t.parts[LOST_STOLEN];
	take_calls(r, wanted, &t);
	return t;
}

struct record_times record_times_of(const struct record *r)
{
	struct record_times times = { .core = core_time_of(r), .working = working_time_of(r) };

	times.odd_rank = rank_deviation(rank_times_of(r), &times.odd);
	return times;
}

struct amount working_time_share(const struct working_time *t, enum cause cause,
				 struct amount inside)
{
	double all = t->inside[cause];

	if (!inside.is_known || !t->knows_calls || !(t->seconds > 0))
		return (struct amount){};
	return amount_of(all > 0 ? fmin(1, inside.number / all) * t->parts[cause] / t->seconds : 0);
}
