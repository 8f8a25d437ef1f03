/* SPDX-License-Identifier: MIT */
/*
 * What could not be counted as it should goes to the jobs that it touches: those whose groups it
 * happened in; and, of what nobody knows where it was, all that lived since the last reading.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "model/json_place.h"
#include "basic/macro.h"
#include "jobs/registry_internal.h"

static struct losses *get_losses(struct registry_job *j)
{
	if (!j->losses)
		j->losses = calloc(1, sizeof(*j->losses));
	return j->losses;
}

/* What we find as we take over is since the kernel side began, and a state may have a part of it.
 * -ENOMEM. */
static int add(const struct registry *r, struct registry_job *j, size_t reason, uint64_t count)
{
	uint64_t *to;

	if (!count)
		return 0;
	if (!get_losses(j))
		return -ENOMEM;
	to = &j->losses->counts[reason];
	*to = r->has_losses || !r->is_taken_over ? *to + count : MAX(*to, count);
	return 0;
}

static uint64_t count_before(const struct registry *r, const struct cgroup_loss *loss)
{
	const struct cgroup_loss *found = r->loss_count
						  ? bsearch(loss, r->losses, r->loss_count,
							    sizeof(*loss), cgroup_loss_compare)
						  : NULL;

	return found ? found->count : 0;
}

/* To the jobs of all groups that the one answers for, each once. */
static int add_to_jobs(struct registry *r, uint64_t cgroup, const struct losses *new)
{
	size_t at = 0;
	int code = 0;

	r->losses_mark++;
	for (struct registry_group *g; (g = idmap_next(&r->groups, &at));) {
		if ((g->id != cgroup && g->answers != cgroup) || registry_group_is_folded(g))
			continue;
		for (size_t i = 0; i < g->member_count; i++) {
			struct registry_job *j = g->members[i].job;

			if (j->losses_mark == r->losses_mark)
				continue;
			j->losses_mark = r->losses_mark;
			for (size_t reason = 0; code == 0 && reason < LOST_COUNT; reason++)
				code = add(r, j, reason, new->counts[reason]);
		}
	}
	return code;
}

static int take_cgroups(struct registry *r, const struct registry_feed *feed)
{
	size_t end;
	int code = 0;

	for (size_t i = 0; code == 0 && i < feed->loss_count; i = end) {
		struct losses new = {};
		uint64_t sum = 0;

		for (end = i;
		     end < feed->loss_count && feed->losses[end].cgroup == feed->losses[i].cgroup;
		     end++) {
			const struct cgroup_loss *loss = &feed->losses[end];
			uint64_t before = count_before(r, loss);

			new.counts[loss->reason] = loss->count - MIN(before, loss->count);
			sum += new.counts[loss->reason];
		}
		if (sum)
			code = add_to_jobs(r, feed->losses[i].cgroup, &new);
	}
	return code;
}

static int take_nowhere(struct registry *r, const struct losses *now)
{
	int code = 0;

	for (size_t i = 0; i < r->job_count; i++) {
		struct registry_job *j = r->jobs[i];

		for (size_t reason = 0; code == 0 && !j->has_all_losses && reason < LOSSES;
		     reason++)
			code = add(r, j, reason,
				   now->counts[reason] -
					   MIN(r->nowhere.counts[reason], now->counts[reason]));
		j->has_all_losses = j->is_ended;
	}
	return code;
}

int registry_take_losses(struct registry *r, const struct registry_feed *feed)
{
	struct cgroup_loss *losses;
	int code;

	if (!feed->nowhere)
		return 0;
	losses = calloc(feed->loss_count + 1, sizeof(*losses));
	if (!losses)
		return -ENOMEM;
	if (feed->loss_count)
		memcpy(losses, feed->losses, feed->loss_count * sizeof(*losses));
	code = take_cgroups(r, feed);
	if (code == 0)
		code = take_nowhere(r, feed->nowhere);
	free(r->losses); /* on failure, too: what was taken is not to be taken twice */
	r->losses = losses;
	r->loss_count = feed->loss_count;
	r->nowhere = *feed->nowhere;
	r->has_losses = true;
	return code;
}

const struct losses *registry_job_losses(const struct registry_job *j)
{
	static const struct losses none;

	return j->losses ? j->losses : &none;
}

/* ---- in a state: by name, since another build may number them otherwise ---- */

static const char *name_of(size_t reason)
{
	return reason < LOST_COUNT ? lost_reason_name((enum lost_reason)reason) : "skipped_runs";
}

void registry_losses_format(const struct registry_job *j, struct document *d)
{
	document_begin_flat_map_of(d, "lost");
	for (size_t i = 0; j->losses && i < LOSSES; i++) {
		if (!j->losses->counts[i])
			continue;
		document_put_unsigned(d, name_of(i),
				      MIN(j->losses->counts[i], (uint64_t)INT64_MAX));
	}
	document_end_map(d);
}

int registry_losses_parse(const struct place *place, const json_t *root, struct registry_job *j)
{
	struct place here = place_below(place, "lost");
	const json_t *map;
	bool is_known;
	int r = place_get(place, root, "lost", JSON_OBJECT, &map);

	if (r == 0 && map && json_object_size(map) && !get_losses(j))
		return -ENOMEM;
	for (size_t i = 0; r == 0 && map && j->losses && i < LOSSES; i++)
		r = place_take_number(&here, map, name_of(i), 0, &j->losses->counts[i], &is_known);
	return r;
}
