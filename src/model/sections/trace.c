/* SPDX-License-Identifier: MIT */
#include "model/sections/trace.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"
#include "model/json_place.h"
#include "model/parts.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/shape.h"

/* So many that all of them together, and of many records, are a number. */
#define NUMBER_MAX (VALUE_MAX / (TRACED_FUNCTIONS_MAX + 1))

static bool is_name(const char *text, const char *refused)
{
	const size_t length = strlen(text);

	for (size_t i = 0; i < length; i++) {
		if (text[i] <= ' ' || text[i] > '~' || strchr(refused, text[i]))
			return false;
	}
	return length > 0 && length <= TRACED_NAME_MAX;
}

static bool are_names(const char *set, const char *function)
{
	return is_name(set, "\"\\/") && is_name(function, "\"\\");
}

static int check_function(const struct place *place, void *row)
{
	const struct traced_function *f = row;

	if (!are_names(f->set, f->function))
		return place_refuse(place, "", "has no set and function of plain bytes");
	if (MAX(traced_number(f, METRIC_TRACE_FAILED), traced_number(f, METRIC_TRACE_UNSIZED)) >
	    traced_number(f, METRIC_TRACE_CALLS))
		return place_refuse(place, "", "has more of its calls than calls");
	return 0;
}

/* clang-format off */
static const struct field function_fields[] = {
	{ "set", SHAPE_TEXT, SHAPE_KEY | SHAPE_NEEDED, offsetof(struct traced_function, set), TRACED_NAME_MAX + 1 },
	{ "function", SHAPE_TEXT, SHAPE_KEY | SHAPE_NEEDED, offsetof(struct traced_function, function), TRACED_NAME_MAX + 1 },
	{ NULL, SHAPE_NUMBERS, SHAPE_NEEDED, offsetof(struct traced_function, numbers),
	  .first = METRIC_TRACE_FIRST, .end = METRIC_TRACE_END, .most = NUMBER_MAX },
};
static const struct shape functions = { SHAPE_OF(struct traced_function, function_fields),
	.is_flat = true, .max = TRACED_FUNCTIONS_MAX, .has_other = true, .check = check_function };
static const struct field fields[] = {
	{ "process_seconds", SHAPE_NUMBER, SHAPE_NEEDED, offsetof(struct traced_calls, process_ns),
	  .unit = UNIT_SECONDS, .most = NUMBER_MAX },
	{ "functions", SHAPE_LIST, 0, offsetof(struct traced_calls, items), .rows = &functions },
};
/* clang-format on */
static const struct traced_calls blank = { .is_known = true };
const struct shape traced_shape = { SHAPE_OF(struct traced_calls, fields), .blank = &blank };

const struct traced_calls *traced_calls_of(const struct record *r)
{
	return section_get(r, &trace_section);
}

const struct traced_calls *traced_calls_of_parts(const struct parts *p)
{
	static const struct traced_calls none;
	const struct traced_calls *c = parts_get(p, &trace_section);

	return c ? c : &none;
}

uint64_t *traced_number_ref(struct traced_function *f, enum metric_id id)
{
	assert(id >= METRIC_TRACE_FIRST && id < METRIC_TRACE_END);
	return &f->numbers[id - METRIC_TRACE_FIRST];
}

uint64_t traced_number(const struct traced_function *f, enum metric_id id)
{
	return *traced_number_ref((struct traced_function *)f, id);
}

uint64_t traced_total(const struct traced_calls *c, enum metric_id id)
{
	return shape_total(&traced_shape, c, id).number;
}

int traced_get(struct traced_calls *c, const char *set, const char *function,
	       struct traced_function **ret)
{
	struct traced_function like = {};

	if (!are_names(set, function))
		return -EINVAL;
	snprintf(like.set, sizeof(like.set), "%s", set);
	snprintf(like.function, sizeof(like.function), "%s", function);
	*ret = shape_row(&traced_shape, c, &like);
	return *ret ? 0 : -ENOMEM;
}

int traced_difference(const struct traced_calls *now, const struct traced_calls *before,
		      struct traced_calls *ret)
{
	int r = shape_join(&traced_shape, false, ret, now);

	ret->is_known = true;
	(void)shape_subtract(&traced_shape, ret, before);
	return r;
}

void traced_calls_clear(void *section)
{
	shape_clear(&traced_shape, section);
}

static const struct section_table table = { "function", METRIC_TRACE_FIRST, METRIC_TRACE_END };

const struct section trace_section = {
	.name = "trace",
	.size = sizeof(struct traced_calls),
	.counted = COUNTED_BY_SOURCE,
	.is_partial = true,
	.shape = &traced_shape,
	.type = JSON_OBJECT,
	.table = &table,
};
