/* SPDX-License-Identifier: MIT */
/* Sections that cgroups add up to, of cgroups and of jobs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "model/sections/block.h"
#include "basic/cleanup.h"
#include "basic/macro.h"
#include "jobs/registry_internal.h"
#include "model/sections.h"

/* ---- what is fed ---- */

void registry_forget_parts(struct registry *r)
{
	for (size_t i = 0; i < r->part_count; i++)
		section_free(sections[r->parts[i].section], r->parts[i].part);
	free(r->parts);
	r->parts = NULL;
	r->part_count = r->part_room = 0;
}

static size_t index_of(const struct section *s)
{
	size_t i = 0;

	while (i < section_count && sections[i] != s)
		i++;
	return i;
}

/* One of that cgroup, in which there is nothing; NULL: no memory. */
static void *add_part(struct registry *r, unsigned int counted, uint64_t cgroup, size_t section)
{
	void *part;

	if (array_reserve(&r->parts, &r->part_room, r->part_count, sizeof(*r->parts)) < 0)
		return NULL;
	part = section_new(sections[section], counted);
	if (part)
		r->parts[r->part_count++] = (struct registry_part){ cgroup, section, part };
	return part;
}

/* The tasks' own. */
static int take_networks(struct registry *r, const struct registry_feed *feed)
{
	size_t section = index_of(&network_section);

	for (size_t i = 0; section < section_count && i < feed->task_count; i++) {
		struct network *n;

		if (network_is_empty(&feed->tasks[i].network))
			continue;
		n = add_part(r, feed->counted, feed->tasks[i].cgroup, section);
		if (!n)
			return -ENOMEM;
		network_add(n, &feed->tasks[i].network);
	}
	return 0;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct cgroup_block *x = *(const struct cgroup_block *const *)a,
				  *y = *(const struct cgroup_block *const *)b;

	return (x->cgroup > y->cgroup) - (x->cgroup < y->cgroup);
}

static int take_blocks(struct registry *r, const struct registry_feed *feed)
{
	_cleanup_free_ const struct cgroup_block **rows = calloc(feed->block_count + 1,
								 sizeof(*rows));
	size_t section = index_of(&block_section);
	struct block *b = NULL;
	int code = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < feed->block_count; i++)
		rows[i] = &feed->blocks[i];
	qsort(rows, feed->block_count, sizeof(*rows), compare_blocks);
	for (size_t i = 0; section < section_count && code == 0 && i < feed->block_count; i++) {
		if (i == 0 || rows[i]->cgroup != rows[i - 1]->cgroup)
			b = add_part(r, feed->counted, rows[i]->cgroup, section);
		code = b ? block_add(b, rows[i]->row.device, rows[i]->row.op, &rows[i]->row.counts)
			 : -ENOMEM;
	}
	return code;
}

static int take_others(struct registry *r, const struct registry_feed *feed)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < feed->part_count; i++) {
		const struct cgroup_part *from = &feed->parts[i];
		void *part = add_part(r, feed->counted, from->cgroup, index_of(from->section));

		code = part ? section_add(from->section, part, from->part) : -ENOMEM;
	}
	return code;
}

static int compare_parts(const void *a, const void *b)
{
	const struct registry_part *x = a, *y = b;

	if (x->cgroup != y->cgroup)
		return x->cgroup < y->cgroup ? -1 : 1;
	return (x->section > y->section) - (x->section < y->section);
}

int registry_take_parts(struct registry *r, const struct registry_feed *feed)
{
	int code;

	registry_forget_parts(r);
	code = take_networks(r, feed);
	if (code == 0)
		code = take_blocks(r, feed);
	if (code == 0)
		code = take_others(r, feed);
	if (r->part_count)
		qsort(r->parts, r->part_count, sizeof(*r->parts), compare_parts);
	return code;
}

/* NULL: it did nothing of the kind. */
static const void *fed_of(const struct registry *r, const struct registry_group *g, size_t section)
{
	const struct registry_part key = { .cgroup = g->id, .section = section },
				   *found = r->part_count ? bsearch(&key, r->parts, r->part_count,
								    sizeof(key), compare_parts)
							  : NULL;

	return found ? found->part : NULL;
}

bool registry_group_has_parts(const struct registry *r, const struct registry_group *g)
{
	for (size_t i = 0; r->part_count && i < section_count; i++) {
		if (sections[i]->counted && fed_of(r, g, i))
			return true;
	}
	return false;
}

/* ---- of jobs and steps ---- */

static bool is_counted(const struct registry *r, const struct section *s)
{
	return section_is_by_source(s) || (r->counted & s->counted) == s->counted;
}

/* What is not counted now is not known of the sum, either. */
static int limit(const struct registry *r, const struct section *s, void *sum)
{
	void *nothing;
	int code;

	if (is_counted(r, s))
		return 0;
	nothing = section_new(s, r->counted);
	code = nothing ? section_add(s, sum, nothing) : -ENOMEM;
	section_free(s, nothing);
	return code;
}

static int raise_to(const struct section *s, void *sum, const void *last)
{
	return last && section_is_known(s, sum) && section_is_known(s, last)
		       ? section_raise(s, sum, last)
		       : 0;
}

/* What is folded and what the groups did, no less than @last. */
static int sum_up(const struct registry *r, size_t section, const struct parts *folded,
		  const struct registry_part_groups *groups, const struct parts *last,
		  struct parts *ret)
{
	const struct section *s = sections[section];
	const void *part = parts_get(folded, s);
	void *sum = section_new(s, COUNTED_ALL);
	int code = !sum ? -ENOMEM : part ? section_copy(s, sum, part) : 0;

	for (size_t i = 0; code == 0 && r->part_count && i < groups->count; i++) {
		const void *fed = fed_of(r, groups->at(groups->context, i), section);

		code = fed ? section_add(s, sum, fed) : 0;
	}
	if (code == 0)
		code = limit(r, s, sum);
	if (code == 0)
		code = raise_to(s, sum, last ? parts_get(last, s) : NULL);
	if (code == 0)
		code = parts_put(ret, s, sum);
	section_free(s, sum);
	return code;
}

static const struct registry_group *itself(const void *group, size_t i UNUSED)
{
	return group;
}

int registry_parts_fold(const struct registry_member *m, const struct registry_group *g,
			struct parts *ret_job, struct parts *ret_step)
{
	const struct registry_part_groups only = { itself, g, 1 };
	const struct registry *r = m->job->registry;
	int code = 0;

	for (size_t i = 0; code == 0 && i < section_count; i++) {
		if (!sections[i]->counted || (!fed_of(r, g, i) && is_counted(r, sections[i])))
			continue;
		code = sum_up(r, i, &m->job->parts, &only, NULL, ret_job);
		if (code == 0 && m->step && sections[i]->is_of_steps)
			code = sum_up(r, i, &m->step->parts, &only, NULL, ret_step);
	}
	return code;
}

int registry_parts_show(const struct registry *r, const struct parts *folded, bool is_of_step,
			const struct registry_part_groups *groups, const struct parts *last,
			struct parts *ret)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < section_count; i++) {
		const struct section *s = sections[i];

		if (!s->counted || s->is_on_demand || (is_of_step && !s->is_of_steps))
			continue;
		if (!section_is_by_source(s) || parts_get(folded, s))
			code = sum_up(r, i, folded, groups, last, ret);
	}
	return code;
}

int registry_job_add_parts(struct registry_job *j, const struct parts *more)
{
	return parts_add(&j->parts, more);
}

/* ---- on demand ---- */

const void *registry_job_part(const struct registry_job *j, const struct section *s)
{
	return parts_get(&j->parts, s);
}

static int add_to_job(struct registry_job *j, const struct cgroup_part *part)
{
	j->is_changed = true;
	return parts_add_one(&j->parts, part->section, part->part);
}

int registry_fold_part(struct registry *r, const struct cgroup_part *part)
{
	const struct registry_group *g = idmap_get(&r->groups, part->cgroup);
	int code = 0;

	if (!g || !g->is_learned || !g->died_ns || !registry_group_is_folded(g))
		return 0;
	for (size_t i = 0; code == 0 && i < g->member_count; i++)
		code = add_to_job(g->members[i].job, part);
	return code;
}

int registry_inherit_part(struct registry *r, const struct cgroup_part *part)
{
	const struct registry_group *g = idmap_get(&r->groups, part->cgroup);
	int code = 0;

	for (size_t i = 0; code == 0 && g && g->is_learned && i < g->member_count; i++) {
		if (!g->members[i].is_folded)
			code = add_to_job(g->members[i].job, part);
	}
	return code;
}
