/* SPDX-License-Identifier: MIT */
#include "model/sections/oom_list.h"

#include <errno.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "model/json_place.h"
#include "basic/macro.h"
#include "model/metric_json.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"

/* What a killed process had in memory, by its key. */
/* clang-format off */
static const struct part {
	const char *key;
	size_t offset;
} parts[] = {
	{ "rss_bytes",   offsetof(struct oom_kill, rss) },
	{ "anon_bytes",  offsetof(struct oom_kill, anon) },
	{ "file_bytes",  offsetof(struct oom_kill, file) },
	{ "shmem_bytes", offsetof(struct oom_kill, shmem) },
};
/* clang-format on */

static struct value *part_of(struct oom_kill *v, size_t i)
{
	return (struct value *)(void *)((char *)v + parts[i].offset);
}

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

/* ---- as text ---- */

static void format_one(const struct oom_kill *from, struct document *d)
{
	struct oom_kill oom_kill = *from;

	document_begin_flat_map(d);
	document_put_time(d, "time", oom_kill.time_ns);
	document_put_signed(d, "pid", oom_kill.pid);
	document_key(d, "uid");
	if (oom_kill.uid >= 0)
		document_signed(d, oom_kill.uid);
	else
		document_null(d);
	document_put_string(d, "command", *oom_kill.command ? oom_kill.command : NULL);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const struct value *value = part_of(&oom_kill, i);

		document_key(d, parts[i].key);
		if (value->is_known)
			document_unsigned(d, value->number);
		else
			document_null(d);
	}
	document_end_map(d);
}

void oom_list_format(const void *section, struct document *d)
{
	const struct oom_list *v = section;

	document_begin_list(d);
	for (size_t i = 0; i < v->count; i++)
		format_one(&v->items[i], d);
	document_end_list(d);
}

static int take_oom_kill(const struct place *place, const json_t *map, void *data)
{
	struct oom_list *ret = data;
	_cleanup_free_ char *command = NULL;
	struct oom_kill oom_kill = { .uid = -1 };
	int64_t pid = 0;
	int r;

	r = place_take_time(place, map, "time", &oom_kill.time_ns);
	if (r == 0)
		r = place_take_signed(place, map, "pid", 0, INT32_MAX, &pid);
	if (r == 0)
		r = place_take_signed(place, map, "uid", 0, UINT32_MAX, &oom_kill.uid);
	if (r == 0)
		r = place_take_string(place, map, "command", &command);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++)
		r = value_take(place, map, parts[i].key, 0, part_of(&oom_kill, i));
	if (r < 0)
		return r;
	if (command && strlen(command) >= sizeof(oom_kill.command))
		return place_refuse(place, "command", "has more than %d bytes",
				    OOM_KILL_COMMAND_SIZE - 1);
	if (command)
		memcpy(oom_kill.command, command, strlen(command) + 1);
	oom_kill.pid = (int)pid;
	(void)oom_list_add(ret, &oom_kill);
	return 0;
}

int oom_list_parse(const struct place *place, const json_t *list, void *ret)
{
	return place_each(place, list, OOM_LIST_MAX, take_oom_kill, ret);
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
	.add = oom_list_merge,
	.subtract = oom_list_subtract,
	.format = oom_list_format,
	.type = JSON_ARRAY,
	.parse = oom_list_parse,
};
