/* SPDX-License-Identifier: MIT */
#include "model/sections/load_balance.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/shape.h"

struct balance load_balance_of_sum(uint64_t count, uint64_t sum_ns, uint64_t greatest_ns)
{
	unsigned __int128 most = (unsigned __int128)count * greatest_ns;

	if (!most || !sum_ns)
		return (struct balance){};
	return (struct balance){
		.count = { count, true },
		.balance = { MIN((uint64_t)((unsigned __int128)sum_ns * LOAD_BALANCE_ONE / most),
				 (uint64_t)LOAD_BALANCE_ONE),
			     true },
	};
}

struct threads threads_of_sum(uint64_t count, uint64_t sum_ns, uint64_t greatest_ns)
{
	const struct balance e = load_balance_of_sum(count, sum_ns, greatest_ns);

	return (struct threads){ e.count,
				 e.balance,
				 { e.count.is_known ? sum_ns : 0, e.count.is_known } };
}

struct balance load_balance_of(const uint64_t *times_ns, size_t count)
{
	uint64_t sum = 0, greatest = 0;

	for (size_t i = 0; i < count; i++) {
		sum += times_ns[i];
		greatest = MAX(greatest, times_ns[i]);
	}
	return load_balance_of_sum(count, sum, greatest);
}

/* ---- sections: fields of the record ---- */

static bool is_known(const void *section)
{
	return ((const struct balance *)section)->count.is_known;
}

static bool threads_are_known(const void *section)
{
	return ((const struct threads *)section)->count.is_known;
}

/* The process that did most of all is one of those that did most of each. */
static int threads_keep_busier(void *sum, const void *part)
{
	const struct threads *from = part;
	struct threads *to = sum;

	if (!to->cpu_ns.is_known || !from->cpu_ns.is_known)
		*to = (struct threads){};
	else if (from->cpu_ns.number > to->cpu_ns.number)
		*to = *from;
	return 0;
}

const struct section cores_section = {
	.name = "cores",
	.size = sizeof(struct balance),
	.offset = offsetof(struct record, cores),
	.is_known = is_known,
};

const struct section ranks_section = {
	.name = "ranks",
	.size = sizeof(struct balance),
	.offset = offsetof(struct record, ranks),
	.is_known = is_known,
};

const struct section threads_section = {
	.name = "threads",
	.size = sizeof(struct threads),
	.offset = offsetof(struct record, threads),
	.is_known = threads_are_known,
	.add = threads_keep_busier,
};

/* ---- ranks one by one ---- */

/* clang-format off */
static const struct field rank_fields[] = {
	{ "rank", SHAPE_NUMBER, 0, offsetof(struct rank_time, rank) },
	{ "node", SHAPE_TEXT, SHAPE_OMIT, offsetof(struct rank_time, node), RANK_NODE_SIZE },
	{ "step", SHAPE_TEXT, SHAPE_OMIT, offsetof(struct rank_time, step), RANK_STEP_SIZE },
	{ "work_seconds", SHAPE_NUMBER, 0, offsetof(struct rank_time, work_ns), .unit = UNIT_SECONDS },
};
static const struct shape rank_shape = { SHAPE_OF(struct rank_time, rank_fields),
	.is_flat = true, .max = RANK_TIMES_MAX };
static const struct field fields[] = {
	{ NULL, SHAPE_LIST, 0, offsetof(struct rank_times, items), .rows = &rank_shape },
};
/* clang-format on */
static const struct shape shape = { SHAPE_OF(struct rank_times, fields) };

const struct rank_times *rank_times_of(const struct record *r)
{
	return section_get(r, &rank_work_section);
}

int rank_times_add(struct rank_times *t, const char *node, const char *step, uint64_t rank,
		   uint64_t work_ns)
{
	struct rank_time one = { .rank = rank, .work_ns = work_ns };

	snprintf(one.node, sizeof(one.node), "%s", node);
	snprintf(one.step, sizeof(one.step), "%s", step);
	t->is_known = true;
	return t->count >= RANK_TIMES_MAX || shape_append(&shape, t, &one) ? 0 : -ENOMEM;
}

void rank_times_clear(struct rank_times *t)
{
	section_clear(&rank_work_section, t);
}

static bool is_of_one_step(const struct rank_times *a, const struct rank_times *b)
{
	return !a->count || !b->count || strcmp(a->items[0].step, b->items[0].step) == 0;
}

/* Nodes number ranks of their own, or all of the step: none is another's, and none is looked for.
 * Ranks of two steps are not alike: then nothing is known.
 */
static int rank_times_join(void *sum, const void *part)
{
	const struct rank_times *from = part;
	struct rank_times *to = sum;
	int r = 0;

	if (!to->is_known || !from->is_known || !is_of_one_step(to, from))
		rank_times_clear(to);
	for (size_t i = 0; r == 0 && to->is_known && i < from->count; i++)
		r = rank_times_add(to, from->items[i].node, from->items[i].step,
				   from->items[i].rank, from->items[i].work_ns);
	return r;
}

/* Of a part of its life nothing is known. */
static int rank_times_subtract(void *later, const void *earlier UNUSED,
			       struct strings *notes UNUSED)
{
	rank_times_clear(later);
	return 0;
}

const struct section rank_work_section = {
	.name = "rank_work",
	.size = sizeof(struct rank_times),
	.counted = COUNTED_BY_SOURCE,
	.shape = &shape,
	.add = rank_times_join,
	.subtract = rank_times_subtract,
	.type = JSON_ARRAY,
};
