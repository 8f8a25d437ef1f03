/* SPDX-License-Identifier: MIT */
#include "load/losses.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "load/entries.h"
#include "basic/error.h"
#include "load/meter.h"
#include "model/record.h"
#include "bpf/tasks.h" /* the kernel side's */

/* clang-format off */
static const struct {
	const char *name;
	bool is_missing; /* a number is wrong for it; else only less is known */
	const char *one, *many; /* unit of the loss; NULL: no loss */
	const char *words; /* behind it */
} reasons[LOST_COUNT] = {
	[LOST_ROW] = { "row", false, "call", "calls", " counted in (other), since the table of files was full" },
	[LOST_HISTOGRAM] = { "histogram", false, "call", "calls", " in no histogram, since the table of histograms was full" },
	[LOST_CLOCK] = { "clock", false, "call", "calls", " counted without their time" },
	[LOST_INTERRUPTED] = { "interrupted", true, "call", "calls", " that a signal ended may be missing, since the table of calls was full" },
	[LOST_COMPAT] = { "compat", true, "call", "calls", " of 32-bit programs not counted" },
	[LOST_EXEC] = { "exec", true, "program", "programs", " whose reads by the kernel, as they started, are not counted" },
	[LOST_TASK] = { "task", true, "ended task", "ended tasks", " not counted, since the table of tasks was full" },
	[LOST_LEAVING] = { "leaving", false, "ended task", "ended tasks", " in no reading until they were freed, since the table of those was full" },
	[LOST_MOVE] = { "move", false, "process", "processes", " moved with their threads' earlier use" },
	[LOST_PLACE] = { "place", false, "call", "calls", " on file systems that have no name, since the table of file systems was full" },
	[LOST_PATH] = { "path", false, "place", "places", " of calls not noted, since a table was full: they stand in (unresolved)" },
	[LOST_LIBAIO] = { "libaio", true, "libaio request", "libaio requests", " not counted, since their results cannot be seen here" },
	[LOST_SKIPPED] = { "skipped", true, "io_uring request", "io_uring requests", " that asked for no completion not counted where they succeeded" },
	[LOST_REQUEST] = { "request", true, "io_uring request", "io_uring requests", " not counted, since this kernel does not say which request a result belongs to" },
	[LOST_BASELINE] = { "baseline", false, "task", "tasks", " not followed where they moved between cgroups, since the table of tasks was full" },
	[LOST_FILE] = { "file", false, "call", "calls", " counted only in the sum over files that were not followed" },
	[LOST_FILE_SUM] = { "file_sum", true, "call", "calls", " on single files counted only by mount, since the table of those was full" },
	[LOST_FILE_NAME] = { "file_name", false, NULL, NULL, NULL },
	[LOST_ORDER] = { "order", false, "access", "accesses", " of which is not known whether they were sequential" },
	[LOST_GROUP] = { "group", false, "cgroup", "cgroups", " counted with the cgroup above them, since the table of cgroups was full" },
	[LOST_GUEST] = { "guest", false, "cgroup", "cgroups", " that users made counted with the cgroup above them, since there were too many" },
	[LOST_FREEING] = { "freeing", false, "ended task", "ended tasks", ": the last milliseconds of their CPU time are missing" },
	[LOST_TIME] = { "time", true, "turn", "turns", " of tasks on a CPU whose wait times are not counted, since the table of times was full" },
	[LOST_TASK_STATE] = { "task_state", false, "task", "tasks", " whose wait times are not counted from their birth on, for lack of memory" },
	[LOST_POLL] = { "poll", true, "poll", "polls", " or samples of spinning tasks not counted, since the table of those was full" },
	[LOST_THREADS] = { "threads", false, "process", "processes", " that may have been the busiest, whose threads were not sampled" },
	[LOST_OOM_KILL] = { "oom_kill", false, "process", "processes", " that were killed when memory ran out and are not named, since the table of them was full" },
	[LOST_TRAFFIC] = { "traffic", true, "call", "calls", " on sockets not counted by kind of socket, since the table of those was full" },
	[LOST_MESSAGE] = { "message", true, "call", "calls", " or requests of several messages whose bytes are not counted, since their lengths could not be read" },
	[LOST_CONNECTION] = { "connection", true, "beginning", "beginnings", " and uses of TCP connections of which neither opening nor retransmits are counted, since the table of those was full" },
	[LOST_ACCEPT] = { "accept", true, "io_uring request", "io_uring requests", " to accept connections, which are not counted as accepted" },
	[LOST_SYSCALL] = { "syscall", false, "system call", "system calls", " counted without their time: begun unseen, or the table of calls was full" },
	[LOST_SYSCALL_ROW] = { "syscall_row", true, "system call", "system calls", " not counted by name, since the table of those was full" },
	[LOST_BLOCK_ROW] = { "block_row", true, "request", "requests", " to block devices not counted, since the table of those was full" },
	[LOST_BLOCK_REQUEST] = { "block_request", true, "request", "requests", " to block devices not counted, since too many were on their way at once" },
	[LOST_BLOCK_END] = { "block_end", false, "request", "requests", " to block devices counted without their time, since their end was not seen" },
};
/* clang-format on */

const char *lost_reason_name(enum lost_reason reason)
{
	assert(reason < LOST_COUNT);
	assert(reasons[reason].name); /* else two series would have one name */
	return reasons[reason].name;
}

void losses_sum(const struct meter *m, struct losses *ret)
{
	for (unsigned int i = 0; i < LOST_COUNT; i++)
		ret->counts[i] = meter_lost(m, i);
	ret->counts[LOSS_SKIPPED] = meter_skipped_runs(m);
}

int cgroup_loss_compare(const void *a, const void *b)
{
	const struct cgroup_loss *x = a, *y = b;

	if (x->cgroup != y->cgroup)
		return x->cgroup < y->cgroup ? -1 : 1;
	return (x->reason > y->reason) - (x->reason < y->reason);
}

int losses_read(const struct meter *m, struct cgroup_loss **ret, size_t *ret_count,
		struct losses *ret_nowhere, struct error *err)
{
	_cleanup_(entries_end) struct entries e = objects_entries(meter_objects(m), OBJECT_LIFE,
								  "lost_by_cgroup");
	_cleanup_free_ struct cgroup_loss *losses = NULL;
	size_t count = 0, room = 0;
	int r = 0;

	while (e.fd >= 0 && r >= 0 && (r = entries_next(&e)) > 0) {
		const struct cgroup_cpu *key = e.key;

		if (key->cpu >= LOST_COUNT)
			continue;
		r = array_reserve(&losses, &room, count, sizeof(*losses));
		if (r == 0)
			losses[count++] = (struct cgroup_loss){ key->cgroup, key->cpu, 0,
								*(const uint64_t *)e.value };
	}
	if (r < 0)
		return error_set_errno(err, r, "cannot read what the kernel side lost");
	if (count)
		qsort(losses, count, sizeof(*losses), cgroup_loss_compare);
	for (unsigned int i = 0; i < LOST_COUNT; i++)
		ret_nowhere->counts[i] = meter_lost(m, LOST_COUNT + i);
	ret_nowhere->counts[LOSS_SKIPPED] = meter_skipped_runs(m);
	*ret = TAKE_PTR(losses);
	*ret_count = count;
	return 0;
}

/* ---- in words ---- */

/* Programs that the kernel skipped only add a place to a call, or a count that nothing else has. */
static int describe_skipped(uint64_t n, struct record *record)
{
	if (!n)
		return 0;
	record->coverage.lost_events += n;
	return strings_add(
		&record->coverage.notes,
		"%" PRIu64
		" runs of BPF programs were skipped by the kernel, which preempts them: calls "
		"by path may stand beside their mount, and libaio's and requests to block devices may be missing",
		n);
}

int losses_describe(const struct losses *l, struct record *record)
{
	int skipped = describe_skipped(l->counts[LOSS_SKIPPED], record);

	for (size_t i = 0; skipped >= 0 && i < LOST_COUNT; i++) {
		uint64_t n = l->counts[i];
		int r;

		if (!n || !reasons[i].words)
			continue;
		record->coverage.lost_events += n;
		r = strings_add(reasons[i].is_missing ? &record->coverage.missing
						      : &record->coverage.notes,
				"%" PRIu64 " %s%s", n, n == 1 ? reasons[i].one : reasons[i].many,
				reasons[i].words);
		if (r < 0)
			return r;
	}
	return skipped;
}
