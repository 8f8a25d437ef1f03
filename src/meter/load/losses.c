/* SPDX-License-Identifier: MIT */
#include "load/losses.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "load/entries.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "load/meter.h"
#include "bpf/tasks.h" /* the kernel side's */

/* clang-format off */
static const char *const lost_names[LOST_COUNT] = {
	[LOST_ROW] = "row", [LOST_HISTOGRAM] = "histogram", [LOST_CLOCK] = "clock", [LOST_INTERRUPTED] = "interrupted",
	[LOST_COMPAT] = "compat", [LOST_EXEC] = "exec", [LOST_TASK] = "task", [LOST_LEAVING] = "leaving",
	[LOST_MOVE] = "move", [LOST_PLACE] = "place", [LOST_PATH] = "path", [LOST_LIBAIO] = "libaio",
	[LOST_SKIPPED] = "skipped", [LOST_REQUEST] = "request", [LOST_BASELINE] = "baseline", [LOST_FILE] = "file",
	[LOST_FILE_NAME] = "file_name", [LOST_ORDER] = "order",
	[LOST_GROUP] = "group", [LOST_GUEST] = "guest", [LOST_FREEING] = "freeing",
	[LOST_TIME] = "time", [LOST_TASK_STATE] = "task_state", [LOST_POLL] = "poll", [LOST_THREADS] = "threads",
	[LOST_OOM_KILL] = "oom_kill",
	[LOST_TRAFFIC] = "traffic", [LOST_MESSAGE] = "message", [LOST_CONNECTION] = "connection", [LOST_ACCEPT] = "accept", [LOST_SYSCALL] = "syscall", [LOST_SYSCALL_ROW] = "syscall_row",
	[LOST_BLOCK_ROW] = "block_row", [LOST_BLOCK_REQUEST] = "block_request",
	[LOST_BLOCK_END] = "block_end",
};
/* clang-format on */

const char *lost_reason_name(enum lost_reason reason)
{
	assert(reason < LOST_COUNT);
	assert(lost_names[reason]); /* else two series would have one name */
	return lost_names[reason];
}

void losses_sum(const struct meter *m, struct losses *ret)
{
	for (unsigned int i = 0; i < LOST_COUNT; i++)
		ret->counts[i] = meter_lost(m, i);
	ret->counts[LOSS_SKIPPED] = meter_skipped_runs(m);
}

struct loss_list {
	struct cgroup_loss *items;
	size_t count, room;
};

static int visit(void *context, const void *key, const void *value)
{
	const struct cgroup_cpu *its = key;
	struct loss_list *l = context;

	if (its->cpu >= LOST_COUNT)
		return 0;
	if (l->count == l->room) {
		size_t room = l->room ? l->room * 2 : 16;
		struct cgroup_loss *items = reallocarray(l->items, room, sizeof(*items));

		if (!items)
			return -ENOMEM;
		l->items = items;
		l->room = room;
	}
	l->items[l->count++] = (struct cgroup_loss){ its->cgroup, its->cpu, 0,
						     *(const uint64_t *)value };
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct cgroup_loss *x = a, *y = b;

	if (x->cgroup != y->cgroup)
		return x->cgroup < y->cgroup ? -1 : 1;
	return (x->reason > y->reason) - (x->reason < y->reason);
}

int losses_read(const struct meter *m, struct cgroup_loss **ret, size_t *ret_count,
		struct losses *ret_nowhere, struct error *err)
{
	int fd = objects_map_fd(meter_objects(m), OBJECT_LIFE, "lost_by_cgroup"), r = 0;
	struct loss_list list = {};

	if (fd >= 0)
		r = entries_visit(fd, sizeof(struct cgroup_cpu), sizeof(uint64_t), visit, &list);
	if (r < 0) {
		free(list.items);
		return error_set_errno(err, r, "cannot read what the kernel side lost");
	}
	if (list.count)
		qsort(list.items, list.count, sizeof(*list.items), compare);
	for (unsigned int i = 0; i < LOST_COUNT; i++)
		ret_nowhere->counts[i] = meter_lost(m, LOST_COUNT + i);
	ret_nowhere->counts[LOSS_SKIPPED] = meter_skipped_runs(m);
	*ret = list.items;
	*ret_count = list.count;
	return 0;
}
