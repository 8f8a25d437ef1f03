/* SPDX-License-Identifier: MIT */
#include "counters/cgroups.h"

#include <errno.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "model/counted.h"
#include "basic/error.h"
#include "load/meter.h"
#include "counters/naming.h"
#include "counters/task_sums.h"

static int add_tasks(struct meter *m, struct reading *to, struct error *err)
{
	_cleanup_free_ struct cgroup_tasks *tasks = NULL;
	size_t count = 0;
	int r = cgroups_read_tasks(m, &tasks, &count, NULL, err);

	to->network.is_known = r >= 0;
	to->network.has_connections = to->network.has_details = (meter_counted(m) &
								 COUNTED_CONNECTIONS) != 0;
	for (size_t i = 0; i < count; i++) {
		task_metrics_add(to->values, &tasks[i].counters);
		task_times_add(to->values, &tasks[i].times);
		polls_add(to->values, &tasks[i].polls, (meter_counted(m) & COUNTED_SPINNING) != 0);
		reading_add(to, METRIC_TASKS_ENDED, tasks[i].ended);
		network_add(&to->network, &tasks[i].network);
	}
	return r;
}

static int add_rows(struct meter *m, struct reading *to, struct error *err)
{
	_cleanup_(mounts_clear) struct mounts now = {};
	_cleanup_(naming_clear) struct naming naming = {
		.before = &now,
		.now = &now,
		.superblocks_fd = objects_map_fd(meter_objects(m), OBJECT_FILES, "superblocks"),
		.mnt_ns = naming_namespace(meter_opened_with(m)->root_fd, "self"),
	};
	_cleanup_free_ struct cgroup_row *rows = NULL;
	size_t count = 0;
	int r = mounts_read(meter_opened_with(m)->root_fd, "self", &now, err);

	if (r >= 0)
		r = cgroups_read_rows(m, &rows, &count, err);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		const struct file_key *key = &rows[i].key;
		const struct op_counts counts = op_counts_of(key->op, &rows[i].counts);
		const struct snapshot_mount *mount;
		struct mount_row *row;

		if (key->op >= OP_COUNT || key->interface >= INTERFACE_COUNT)
			continue;
		mount = naming_get(&naming, key->place);
		row = mount ? snapshot_mount_row(mount, to) : NULL;
		if (!row)
			return -ENOMEM;
		row->has_seconds = meter_opened_with(m)->has_clock;
		mount_row_add(row, (enum file_op)key->op, (enum file_interface)key->interface,
			      &counts);
	}
	to->has_mounts = r >= 0;
	return r;
}

static int add_blocks(struct meter *m, struct reading *to)
{
	_cleanup_free_ struct cgroup_block *blocks = NULL;
	size_t count = 0;
	int r = cgroups_read_blocks(m, &blocks, &count);

	for (size_t i = 0; r >= 0 && i < count; i++)
		r = block_add(&to->block, blocks[i].row.device, blocks[i].row.op,
			      &blocks[i].row.counts);
	to->block.is_known = r >= 0;
	return r;
}

int counted_all_read(struct meter *m, struct reading *ret, struct error *err)
{
	int r = add_tasks(m, ret, err);

	if (r >= 0 && meter_is_on(m, "leave_call"))
		r = add_rows(m, ret, err);
	if (r >= 0 && meter_counted(m) & COUNTED_BLOCK)
		r = add_blocks(m, ret);
	return r < 0 ? error_set_errno(err, r, "cannot read the kernel side's counters") : 0;
}
