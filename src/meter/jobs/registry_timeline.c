/* SPDX-License-Identifier: MIT */
/* What jobs did over time. */
#include <errno.h>
#include <string.h>

#include "basic/macro.h"
#include "jobs/registry_internal.h"

#define SAVE_NS \
	UINT64_C(60000000000) /* a timeline that changes is written down this often at most... */
#define SAVE_SHARE 32 /* ...and not before it has grown by one of so many parts */
#define SAVES_MAX 32 /* of all jobs, after one reading */

/* ---- a reading ---- */

#define CLASSES                                                                           \
	(OP_DATA_COUNT + 1) /* each operation on data, and all those on metadata together \
			     */

/* Over all mounts, and all ways but mappings. */
static void sum_rows(const struct snapshot *s, const struct snapshot_job *job,
		     struct op_counts ret[CLASSES])
{
	memset(ret, 0, CLASSES * sizeof(*ret));
	for (size_t i = 0; i < job->row_count; i++) {
		const struct snapshot_row *row = &job->rows[i];

		if (row->interface != INTERFACE_MAPPING && s->mounts[row->mount].kind != ROW_KERNEL)
			op_counts_add(&ret[MIN(row->op, OP_DATA_COUNT)], &row->counts);
	}
}

static struct value take_sum(const struct snapshot *s, enum metric_id id,
			     const struct op_counts sums[CLASSES])
{
	struct value value = { .is_known = metric_get(id)->unit == UNIT_SECONDS ? s->has_seconds
										: s->has_mounts };

	for (size_t op = 0; op < CLASSES; op++) {
		if (metric_takes(id, (enum file_op)op, INTERFACE_CALL))
			value.number += op_counts_number(&sums[op], id);
	}
	return value;
}

static struct value take_network(const struct network *n, enum metric_id id)
{
	struct value value = { .is_known = network_knows(n, id) };

	if (value.is_known)
		value.number = MIN(network_total(n, id), VALUE_MAX);
	return value;
}

/* To 10 MHz and 1 degree Celsius: finer they change with each reading, also of an idle job, whose
 * timeline then grows. */
static struct value take_now(const struct thermal_now *now, enum metric_id id)
{
	const uint64_t step = id == METRIC_JOB_FREQUENCY_MEAN ? 10000000
			      : id == METRIC_JOB_TEMPERATURE  ? 1000
							      : 1;
	struct value value = thermal_now_value(now, id);

	value.number = (value.number + step / 2) / step * step;
	return value;
}

/* As timeline_values() has them, without a row a mount: there may be a hundred thousand. */
static void take_values(const struct snapshot *s, const struct snapshot_job *job,
			struct value ret[TIMELINE_SERIES])
{
	struct op_counts sums[CLASSES];

	sum_rows(s, job, sums);
	for (size_t i = 0; i < TIMELINE_SERIES; i++) {
		enum metric_id id = timeline_metric(i);

		if (metric_get(id)->scope == SCOPE_SOCKET)
			ret[i] = take_network(network_of(&job->parts), id);
		else if (timeline_is_of_cpus(i))
			ret[i] = take_now(&job->now, id);
		else
			ret[i] = id < METRIC_JOB_COUNT ? job->values[id] : take_sum(s, id, sums);
	}
}

/* All of a job that was born under us is in its timeline; of another, what came since we looked. */
static int begin(struct registry_job *j)
{
	if (j->timeline.series || j->is_restored || !j->facts->start_boot_ns)
		return 0;
	return timeline_begin(&j->timeline, j->facts->start_ns, j->facts->start_boot_ns);
}

static bool is_due(const struct registry_job *j)
{
	uint64_t age_ns = j->timeline.last_ns - j->timeline.start_ns;
	uint64_t now_ns = j->timeline.last_boot_ns;

	return j->timeline.changes != j->saved_changes &&
	       now_ns >= j->saved_boot_ns + MAX(SAVE_NS, age_ns / SAVE_SHARE);
}

int registry_feed_timeline(struct registry_job *j, const struct snapshot *s,
			   const struct snapshot_job *job)
{
	struct value values[TIMELINE_SERIES];
	uint64_t boot_ns = s->boot_ns;
	int r = begin(j);

	if (j->is_ended)
		boot_ns = MIN(boot_ns, j->facts->end_boot_ns);
	take_values(s, job, values);
	if (r == 0)
		r = timeline_feed(&j->timeline, s->real_ns - (s->boot_ns - boot_ns), boot_ns,
				  values);
	if (r == 0 && j->registry->saves_left && !j->is_changed && is_due(j)) {
		j->registry->saves_left--;
		j->is_changed = true;
	}
	return r;
}

void registry_allow_saves(struct registry *r)
{
	r->saves_left = SAVES_MAX;
}

/* ---- for others ---- */

const struct timeline *registry_job_timeline(const struct registry_job *j)
{
	return &j->timeline;
}

void registry_save_timelines(struct registry *r)
{
	for (size_t i = 0; i < r->job_count; i++)
		r->jobs[i]->is_changed |= r->jobs[i]->timeline.changes != r->jobs[i]->saved_changes;
}
