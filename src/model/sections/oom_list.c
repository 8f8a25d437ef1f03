/* SPDX-License-Identifier: MIT */
#include "model/sections/oom_list.h"

#include <string.h>

#include "basic/macro.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/shape.h"

#define KILL(member) offsetof(struct oom_kill, member)

static int compare(const void *a, const void *b)
{
	const struct oom_kill *x = a, *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

/* clang-format off */
static const struct oom_kill blank = { .uid = -1 };
static const struct field kill_fields[] = {
	{ "time", SHAPE_TIME, 0, KILL(time_ns) },
	{ "pid", SHAPE_SIGNED, 0, KILL(pid), sizeof(int), .most = INT32_MAX },
	{ "uid", SHAPE_SIGNED, 0, KILL(uid), sizeof(int64_t), .most = UINT32_MAX },
	{ "command", SHAPE_TEXT, SHAPE_OR_NULL, KILL(command), OOM_KILL_COMMAND_SIZE },
	{ "rss_bytes", SHAPE_VALUE, 0, KILL(rss) },
	{ "anon_bytes", SHAPE_VALUE, 0, KILL(anon) },
	{ "file_bytes", SHAPE_VALUE, 0, KILL(file) },
	{ "shmem_bytes", SHAPE_VALUE, 0, KILL(shmem) },
};
static const struct shape kill_shape = { SHAPE_OF(struct oom_kill, kill_fields), .blank = &blank,
	.is_flat = true, .max = OOM_LIST_MAX, .order = compare };
static const struct field fields[] = {
	{ NULL, SHAPE_ARRAY, 0, offsetof(struct oom_list, items), .rows = &kill_shape },
};
/* clang-format on */
static const struct shape shape = { SHAPE_OF(struct oom_list, fields) };

/* Clocks may be set between two looks at one; nobody is killed twice within a second. */
#define SAME_NS UINT64_C(1000000000)

static bool is_same(const struct oom_kill *a, const struct oom_kill *b)
{
	uint64_t apart = a->time_ns > b->time_ns ? a->time_ns - b->time_ns
						 : b->time_ns - a->time_ns;

	return a->pid == b->pid && apart < SAME_NS && strcmp(a->command, b->command) == 0;
}

static bool contains(const struct oom_list *v, const struct oom_kill *oom_kill)
{
	for (size_t i = 0; i < v->count; i++) {
		if (is_same(&v->items[i], oom_kill))
			return true;
	}
	return false;
}

bool oom_list_add(struct oom_list *v, const struct oom_kill *oom_kill)
{
	size_t at = v->count;

	if (contains(v, oom_kill))
		return false;
	while (at > 0 && v->items[at - 1].time_ns > oom_kill->time_ns)
		at--;
	if (at == OOM_LIST_MAX)
		return false;
	if (v->count < OOM_LIST_MAX)
		v->count++;
	memmove(&v->items[at + 1], &v->items[at], (v->count - at - 1) * sizeof(v->items[0]));
	v->items[at] = *oom_kill;
	return true;
}

int oom_list_merge(void *sum, const void *part)
{
	const struct oom_list *from = part;

	for (size_t i = 0; i < from->count; i++)
		(void)oom_list_add(sum, &from->items[i]);
	return 0;
}

static int oom_list_subtract(void *later, const void *earlier, struct strings *notes UNUSED)
{
	struct oom_list *to = later;
	size_t kept = 0;

	for (size_t i = 0; i < to->count; i++) {
		if (!contains(earlier, &to->items[i]))
			to->items[kept++] = to->items[i];
	}
	to->count = kept;
	return 0;
}

const struct oom_kill *oom_list_largest(const struct oom_list *v)
{
	const struct oom_kill *found = NULL;

	for (size_t i = 0; i < v->count; i++) {
		const struct oom_kill *oom_kill = &v->items[i];

		if (oom_kill->rss.is_known && (!found || oom_kill->rss.number > found->rss.number))
			found = oom_kill;
	}
	return found;
}

static bool has_oom_kills(const void *section)
{
	return ((const struct oom_list *)section)->count > 0;
}

const struct section oom_section = {
	.name = "memory.oom",
	.size = sizeof(struct oom_list),
	.offset = offsetof(struct record, oom_list),
	.is_known = has_oom_kills,
	.shape = &shape,
	.add = oom_list_merge,
	.subtract = oom_list_subtract,
	.type = JSON_ARRAY,
};
