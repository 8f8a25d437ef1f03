/* SPDX-License-Identifier: MIT */
#include "model/sections/syscalls.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"
#include "model/json_place.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/shape.h"

static int compare_rows(const void *a, const void *b)
{
	static const enum metric_id order[] = { METRIC_SYSCALL_SECONDS, METRIC_SYSCALL_CALLS };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		uint64_t x = syscall_number(a, order[i]).number,
			 y = syscall_number(b, order[i]).number;

		if (x != y)
			return x > y ? -1 : 1;
	}
	return strcmp(((const struct syscall_row *)a)->name, ((const struct syscall_row *)b)->name);
}

static int check_row(const struct place *place, void *row)
{
	if (syscall_number(row, METRIC_SYSCALL_ERRORS).number >
	    syscall_number(row, METRIC_SYSCALL_CALLS).number)
		return place_refuse(place, "errors", "is more than its calls");
	return 0;
}

/* clang-format off */
static const struct field row_fields[] = {
	{ "name", SHAPE_TEXT, SHAPE_KEY | SHAPE_NEEDED, offsetof(struct syscall_row, name), SYSCALL_NAME_MAX + 1 },
	{ NULL, SHAPE_VALUES, SHAPE_NEEDED, offsetof(struct syscall_row, numbers),
	  .first = METRIC_SYSCALL_FIRST, .end = METRIC_SYSCALL_END },
};
static const struct shape row_shape = { SHAPE_OF(struct syscall_row, row_fields), .is_flat = true,
	.max = SYSCALLS_MAX, .has_other = true, .order = compare_rows, .check = check_row };
static const struct field fields[] = {
	{ NULL, SHAPE_LIST, 0, offsetof(struct syscalls, items), .rows = &row_shape },
};
/* clang-format on */
static const struct shape shape = { SHAPE_OF(struct syscalls, fields) };

void syscall_set(struct syscall_row *row, enum metric_id id, uint64_t number)
{
	assert(id >= METRIC_SYSCALL_FIRST && id < METRIC_SYSCALL_END);
	row->numbers[id - METRIC_SYSCALL_FIRST] = (struct value){ number, true };
}

struct value syscall_number(const struct syscall_row *row, enum metric_id id)
{
	assert(id >= METRIC_SYSCALL_FIRST && id < METRIC_SYSCALL_END);
	return row->numbers[id - METRIC_SYSCALL_FIRST];
}

static struct syscall_row row_of(const char *name)
{
	struct syscall_row row = {};

	snprintf(row.name, sizeof(row.name), "%s", name);
	return row;
}

struct syscall_row *syscalls_find(const struct syscalls *s, const char *name)
{
	const struct syscall_row like = row_of(name);

	return shape_find(&shape, s, &like);
}

struct syscall_row *syscalls_get(struct syscalls *s, const char *name)
{
	const struct syscall_row like = row_of(name);

	return shape_row(&shape, s, &like);
}

int syscalls_add(struct syscalls *s, const struct syscall_row *row)
{
	return shape_add_row(&shape, s, row);
}

uint64_t syscalls_total(const struct syscalls *s, enum metric_id id)
{
	return shape_total(&shape, s, id).number;
}

void syscalls_sort(struct syscalls *s)
{
	shape_sort(&shape, s);
}

void syscalls_clear(void *section)
{
	shape_clear(&shape, section);
}

static const struct section_table table = { "name", METRIC_SYSCALL_FIRST, METRIC_SYSCALL_END };

const struct section syscalls_section = {
	.name = "syscalls",
	.size = sizeof(struct syscalls),
	.offset = offsetof(struct record, syscalls),
	.counted = COUNTED_SYSCALLS,
	.is_on_demand = true,
	.shape = &shape,
	.type = JSON_ARRAY,
	.table = &table,
};
