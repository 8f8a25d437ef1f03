/* SPDX-License-Identifier: MIT */
#include "model/sections/victims.h"

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

/* What a victim had in memory, by its key. */
/* clang-format off */
static const struct part {
	const char *key;
	size_t offset;
} parts[] = {
	{ "rss_bytes",   offsetof(struct victim, rss) },
	{ "anon_bytes",  offsetof(struct victim, anon) },
	{ "file_bytes",  offsetof(struct victim, file) },
	{ "shmem_bytes", offsetof(struct victim, shmem) },
};
/* clang-format on */

static struct value *part_of(struct victim *v, size_t i)
{
	return (struct value *)(void *)((char *)v + parts[i].offset);
}

/* Clocks may be set between two looks at one; nobody is killed twice within a second. */
#define SAME_NS UINT64_C(1000000000)

static bool is_same(const struct victim *a, const struct victim *b)
{
	uint64_t apart = a->time_ns > b->time_ns ? a->time_ns - b->time_ns : b->time_ns - a->time_ns;

	return a->pid == b->pid && apart < SAME_NS && strcmp(a->command, b->command) == 0;
}

static bool contains(const struct victims *v, const struct victim *victim)
{
	for (size_t i = 0; i < v->count; i++) {
		if (is_same(&v->items[i], victim))
			return true;
	}
	return false;
}

bool victims_add(struct victims *v, const struct victim *victim)
{
	size_t at = v->count;

	if (contains(v, victim))
		return false;
	while (at > 0 && v->items[at - 1].time_ns > victim->time_ns)
		at--;
	if (at == VICTIMS_MAX)
		return false;
	if (v->count < VICTIMS_MAX)
		v->count++;
	memmove(&v->items[at + 1], &v->items[at], (v->count - at - 1) * sizeof(v->items[0]));
	v->items[at] = *victim;
	return true;
}

int victims_merge(void *sum, const void *part)
{
	const struct victims *from = part;

	for (size_t i = 0; i < from->count; i++)
		(void)victims_add(sum, &from->items[i]);
	return 0;
}

static int victims_subtract(void *later, const void *earlier, struct strings *notes UNUSED)
{
	struct victims *to = later;
	size_t kept = 0;

	for (size_t i = 0; i < to->count; i++) {
		if (!contains(earlier, &to->items[i]))
			to->items[kept++] = to->items[i];
	}
	to->count = kept;
	return 0;
}

const struct victim *victims_largest(const struct victims *v)
{
	const struct victim *found = NULL;

	for (size_t i = 0; i < v->count; i++) {
		const struct victim *victim = &v->items[i];

		if (victim->rss.is_known && (!found || victim->rss.number > found->rss.number))
			found = victim;
	}
	return found;
}

/* ---- as text ---- */

static void format_one(const struct victim *from, struct document *d)
{
	struct victim victim = *from;

	document_begin_flat_map(d);
	document_key(d, "time");
	document_time(d, victim.time_ns);
	document_key(d, "pid");
	document_signed(d, victim.pid);
	document_key(d, "uid");
	if (victim.uid >= 0)
		document_signed(d, victim.uid);
	else
		document_null(d);
	document_key(d, "command");
	document_string(d, *victim.command ? victim.command : NULL);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const struct value *value = part_of(&victim, i);

		document_key(d, parts[i].key);
		if (value->is_known)
			document_unsigned(d, value->number);
		else
			document_null(d);
	}
	document_end_map(d);
}

void victims_format(const void *section, struct document *d)
{
	const struct victims *v = section;

	document_begin_list(d);
	for (size_t i = 0; i < v->count; i++)
		format_one(&v->items[i], d);
	document_end_list(d);
}

static int take_victim(const struct place *place, const json_t *map, struct victims *ret)
{
	_cleanup_free_ char *command = NULL;
	struct victim victim = { .uid = -1 };
	int64_t pid = 0;
	int r;

	if (!json_is_object(map))
		return place_refuse(place, "", "is %s and should be a map", place_type_name(map));
	r = place_take_time(place, map, "time", &victim.time_ns);
	if (r == 0)
		r = place_take_signed(place, map, "pid", 0, INT32_MAX, &pid);
	if (r == 0)
		r = place_take_signed(place, map, "uid", 0, UINT32_MAX, &victim.uid);
	if (r == 0)
		r = place_take_string(place, map, "command", &command);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++)
		r = value_take(place, map, parts[i].key, 0, part_of(&victim, i));
	if (r < 0)
		return r;
	if (command && strlen(command) >= sizeof(victim.command))
		return place_refuse(place, "command", "has more than %d bytes", VICTIM_COMMAND_SIZE - 1);
	if (command)
		memcpy(victim.command, command, strlen(command) + 1);
	victim.pid = (int)pid;
	(void)victims_add(ret, &victim);
	return 0;
}

int victims_parse(const struct place *place, const json_t *list, void *ret)
{
	int r = 0;

	if (json_array_size(list) > VICTIMS_MAX)
		return place_refuse(place, "", "has more than %d entries", VICTIMS_MAX);
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		struct place here = place_below(place, "[%zu]", i);

		r = take_victim(&here, json_array_get(list, i), ret);
	}
	return r;
}

static bool has_victims(const void *section)
{
	return ((const struct victims *)section)->count > 0;
}

const struct section oom_section = {
	.name = "memory.oom",
	.size = sizeof(struct victims),
	.offset = offsetof(struct record, victims),
	.is_known = has_victims,
	.add = victims_merge,
	.subtract = victims_subtract,
	.format = victims_format,
	.type = JSON_ARRAY,
	.parse = victims_parse,
};
