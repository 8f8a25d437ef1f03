/* SPDX-License-Identifier: MIT */
#include "model/sections/syscalls.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "model/json_place.h"
#include "basic/macro.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"

uint64_t *syscall_number_ref(struct syscall_row *row, enum metric_id id)
{
	assert(id >= METRIC_SYSCALL_FIRST && id < METRIC_SYSCALL_END);
	return &row->numbers[id - METRIC_SYSCALL_FIRST];
}

uint64_t syscall_number(const struct syscall_row *row, enum metric_id id)
{
	return *syscall_number_ref((struct syscall_row *)row, id);
}

bool syscall_knows(const struct syscall_row *row, enum metric_id id)
{
	return id != METRIC_SYSCALL_LONGEST || !row->lacks_longest;
}

struct syscall_row *syscalls_find(const struct syscalls *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++) {
		if (strcmp(s->items[i].name, name) == 0)
			return &s->items[i];
	}
	return NULL;
}

static struct syscall_row *add(struct syscalls *s)
{
	if (s->count >= SYSCALLS_MAX)
		return NULL;
	if (s->count == s->room) {
		size_t room = MAX(s->room * 2, (size_t)64);
		struct syscall_row *larger = reallocarray(s->items, room, sizeof(*larger));

		if (!larger)
			return NULL;
		s->items = larger;
		s->room = room;
	}
	s->items[s->count] = (struct syscall_row){};
	return &s->items[s->count++];
}

struct syscall_row *syscalls_get(struct syscalls *s, const char *name)
{
	struct syscall_row cut, *row;

	snprintf(cut.name, sizeof(cut.name), "%s", name);
	row = syscalls_find(s, cut.name);
	if (!row && (row = add(s)))
		memcpy(row->name, cut.name, sizeof(row->name));
	return row;
}

uint64_t syscalls_total(const struct syscalls *s, enum metric_id id)
{
	uint64_t sum = 0;

	assert(metric_get(id)->kind == KIND_COUNTER);
	for (size_t i = 0; i < s->count; i++)
		sum += syscall_number(&s->items[i], id);
	return sum;
}

static int compare_rows(const void *a, const void *b)
{
	static const enum metric_id order[] = { METRIC_SYSCALL_SECONDS, METRIC_SYSCALL_CALLS };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		uint64_t x = syscall_number(a, order[i]), y = syscall_number(b, order[i]);

		if (x != y)
			return x > y ? -1 : 1;
	}
	return strcmp(((const struct syscall_row *)a)->name, ((const struct syscall_row *)b)->name);
}

void syscalls_sort(struct syscalls *s)
{
	if (s->count > 1)
		qsort(s->items, s->count, sizeof(*s->items), compare_rows);
}

static void add_row(struct syscall_row *to, const struct syscall_row *from)
{
	to->lacks_longest |= from->lacks_longest;
	for (size_t i = 0; i < SYSCALL_NUMBERS; i++) {
		if (metric_get((enum metric_id)(METRIC_SYSCALL_FIRST + i))->kind == KIND_PEAK)
			to->numbers[i] = MAX(to->numbers[i], from->numbers[i]);
		else
			to->numbers[i] += from->numbers[i];
	}
}

int syscalls_add(struct syscalls *s, const struct syscall_row *row)
{
	struct syscall_row *to = syscalls_get(s, row->name);

	if (!to)
		return s->count < SYSCALLS_MAX ? -ENOMEM : -ENOSPC;
	add_row(to, row);
	return 0;
}

/* What finds no room: the last name becomes "(other)". */
static void add_to_other(struct syscalls *s, const struct syscall_row *row)
{
	struct syscall_row *to = syscalls_find(s, "(other)");

	if (!to) {
		to = &s->items[s->count - 1];
		snprintf(to->name, sizeof(to->name), "(other)");
	}
	add_row(to, row);
}

static int syscalls_begin(void *ret, unsigned int counted)
{
	*(struct syscalls *)ret = (struct syscalls){ .is_known = counted & COUNTED_SYSCALLS };
	return 0;
}

static const void *syscalls_idle(const void *section)
{
	static const struct syscalls idle[2] = { [1] = { .is_known = true } };
	const struct syscalls *s = section;

	return s->count ? NULL : &idle[s->is_known];
}

static int syscalls_merge(void *sum, const void *part)
{
	const struct syscalls *from = part;
	struct syscalls *to = sum;
	int r = 0;

	if (!to->is_known || !from->is_known) {
		syscalls_clear(to);
		return 0;
	}
	for (size_t i = 0; r == 0 && i < from->count; i++) {
		r = syscalls_add(to, &from->items[i]);
		if (r == -ENOSPC) {
			add_to_other(to, &from->items[i]);
			r = 0;
		}
	}
	syscalls_sort(to);
	return r;
}

/* A peak that did not rise is from before.  False: a counter fell. */
static bool subtract_row(struct syscall_row *from, const struct syscall_row *earlier)
{
	for (size_t i = 0; i < SYSCALL_NUMBERS; i++) {
		bool is_peak = metric_get((enum metric_id)(METRIC_SYSCALL_FIRST + i))->kind ==
			       KIND_PEAK;

		if (is_peak) {
			from->lacks_longest |= from->numbers[i] <= earlier->numbers[i];
			continue;
		}
		if (from->numbers[i] < earlier->numbers[i])
			return false;
		from->numbers[i] -= earlier->numbers[i];
	}
	return true;
}

static void drop_idle(struct syscalls *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (syscall_number(&s->items[i], METRIC_SYSCALL_CALLS) ||
		    syscall_number(&s->items[i], METRIC_SYSCALL_SECONDS))
			s->items[kept++] = s->items[i];
	}
	s->count = kept;
}

static int syscalls_subtract(void *later, const void *before, struct strings *notes UNUSED)
{
	const struct syscalls *earlier = before;
	struct syscalls *from = later;
	bool is_known = from->is_known && earlier->is_known;

	for (size_t i = 0; is_known && i < earlier->count; i++) {
		struct syscall_row *row = syscalls_find(from, earlier->items[i].name);

		is_known = row && subtract_row(row, &earlier->items[i]);
	}
	if (!is_known) {
		syscalls_clear(from);
		return 0;
	}
	drop_idle(from);
	syscalls_sort(from);
	return 0;
}

void syscalls_clear(void *section)
{
	struct syscalls *s = section;

	free(s->items);
	*s = (struct syscalls){};
}

/* ---- as JSON ---- */

static void format_row(const struct syscall_row *row, struct document *d)
{
	document_begin_flat_map(d);
	document_key(d, "name");
	document_string(d, row->name);
	for (size_t i = METRIC_SYSCALL_FIRST; i < METRIC_SYSCALL_END; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		document_key(d, metric->key);
		if (syscall_knows(row, (enum metric_id)i))
			document_decimal(d, syscall_number(row, (enum metric_id)i),
					 metric_unit_places(metric->unit));
		else
			document_null(d);
	}
	document_end_map(d);
}

static void syscalls_format(const void *section, struct document *d)
{
	const struct syscalls *s = section;

	document_begin_list(d);
	for (size_t i = 0; i < s->count; i++)
		format_row(&s->items[i], d);
	document_end_list(d);
}

static int take_number(const struct place *place, const json_t *map, enum metric_id id,
		       struct syscall_row *row)
{
	const struct metric *metric = metric_get(id);
	bool is_known;
	int r = place_take_number(place, map, metric->key, metric_unit_places(metric->unit),
				  syscall_number_ref(row, id), &is_known);

	if (r == 0 && !is_known && id != METRIC_SYSCALL_LONGEST)
		return place_refuse(place, metric->key, "is missing");
	row->lacks_longest |= !is_known;
	return r;
}

static int take_row(const struct place *place, const json_t *map, struct syscalls *s)
{
	_cleanup_free_ char *name = NULL;
	struct syscall_row *row;
	int r;

	if (!json_is_object(map))
		return place_refuse(place, "", "is %s and should be a map", place_type_name(map));
	r = place_take_string(place, map, "name", &name);
	if (r < 0)
		return r;
	if (!name)
		return place_refuse(place, "name", "is missing");
	if (!*name || strlen(name) > SYSCALL_NAME_MAX)
		return place_refuse(place, "name", "is no name of a call: it has 1 to %d bytes",
				    SYSCALL_NAME_MAX);
	if (syscalls_find(s, name))
		return place_refuse(place, "name", "stands there twice");
	row = syscalls_get(s, name);
	if (!row)
		return -ENOMEM;
	for (size_t i = METRIC_SYSCALL_FIRST; r == 0 && i < METRIC_SYSCALL_END; i++)
		r = take_number(place, map, (enum metric_id)i, row);
	if (r == 0 &&
	    syscall_number(row, METRIC_SYSCALL_ERRORS) > syscall_number(row, METRIC_SYSCALL_CALLS))
		r = place_refuse(place, "errors", "is more than its calls");
	return r;
}

static int syscalls_parse(const struct place *place, const json_t *list, void *section)
{
	struct syscalls *ret = section;
	int r = 0;

	if (json_array_size(list) > SYSCALLS_MAX)
		return place_refuse(place, "", "has more than %d entries", SYSCALLS_MAX);
	ret->is_known = true;
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		struct place here = place_item(place, "", i);

		r = take_row(&here, json_array_get(list, i), ret);
	}
	return r;
}

static const char *syscalls_thing(const void *section, size_t i)
{
	const struct syscalls *s = section;

	return i < s->count ? s->items[i].name : NULL;
}

static bool syscalls_number(const void *section, const char *thing, enum metric_id id,
			    uint64_t *ret)
{
	const struct syscall_row *row = thing ? syscalls_find(section, thing) : NULL;

	*ret = row ? syscall_number(row, id) : 0;
	return row && syscall_knows(row, id);
}

static const struct section_table syscalls_table = {
	.label = "name",
	.first = METRIC_SYSCALL_FIRST,
	.end = METRIC_SYSCALL_END,
	.thing = syscalls_thing,
	.number = syscalls_number,
};

const struct section syscalls_section = {
	.name = "syscalls",
	.size = sizeof(struct syscalls),
	.offset = offsetof(struct record, syscalls),
	.counted = COUNTED_SYSCALLS,
	.is_on_demand = true,
	.begin = syscalls_begin,
	.clear = syscalls_clear,
	.idle = syscalls_idle,
	.add = syscalls_merge,
	.subtract = syscalls_subtract,
	.format = syscalls_format,
	.type = JSON_ARRAY,
	.parse = syscalls_parse,
	.table = &syscalls_table,
};
