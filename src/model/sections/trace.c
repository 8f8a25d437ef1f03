/* SPDX-License-Identifier: MIT */
#include "model/sections/trace.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/macro.h"
#include "model/document.h"
#include "model/json_place.h"
#include "model/parts.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"

#define OTHER "(other)"
#define OTHER_KEY OTHER "/" OTHER

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

void traced_set_name(const struct traced_function *f, char ret[TRACED_NAME_MAX + 1])
{
	snprintf(ret, TRACED_NAME_MAX + 1, "%.*s", (int)strcspn(f->key, "/"), f->key);
}

const char *traced_function_name(const struct traced_function *f)
{
	return f->key + strcspn(f->key, "/") + 1;
}

uint64_t traced_total(const struct traced_calls *c, enum metric_id id)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->count; i++)
		sum += traced_number(&c->items[i], id);
	return sum;
}

/* ---- rows ---- */

static struct traced_function *find(const struct traced_calls *c, const char *key)
{
	for (size_t i = 0; i < c->count; i++) {
		if (strcmp(c->items[i].key, key) == 0)
			return &c->items[i];
	}
	return NULL;
}

/* The row of all others has room of its own. */
static bool is_full(const struct traced_calls *c)
{
	return c->count >= TRACED_FUNCTIONS_MAX + (find(c, OTHER_KEY) != NULL);
}

/* NULL: no memory. */
static struct traced_function *get(struct traced_calls *c, const char *key)
{
	struct traced_function *f = find(c, key);

	if (!f && is_full(c)) {
		key = OTHER_KEY;
		f = find(c, key);
	}
	if (f)
		return f;
	if (array_reserve(&c->items, &c->room, c->count, sizeof(*c->items)) < 0)
		return NULL;
	f = &c->items[c->count++];
	*f = (struct traced_function){};
	memcpy(f->key, key, strlen(key) + 1);
	return f;
}

static bool is_name(const char *text, const char *refused)
{
	const size_t length = strlen(text);

	for (size_t i = 0; i < length; i++) {
		if (text[i] <= ' ' || text[i] > '~' || strchr(refused, text[i]))
			return false;
	}
	return length > 0 && length <= TRACED_NAME_MAX;
}

int traced_get(struct traced_calls *c, const char *set, const char *function,
	       struct traced_function **ret)
{
	char key[2 * TRACED_NAME_MAX + 2];

	if (!is_name(set, "\"\\/") || !is_name(function, "\"\\"))
		return -EINVAL;
	snprintf(key, sizeof(key), "%s/%s", set, function);
	*ret = get(c, key);
	return *ret ? 0 : -ENOMEM;
}

void traced_calls_clear(void *section)
{
	struct traced_calls *c = section;

	free(c->items);
	*c = (struct traced_calls){};
}

/* ---- sums ---- */

static int begin(void *ret, unsigned int counted UNUSED)
{
	*(struct traced_calls *)ret = (struct traced_calls){ .is_known = true };
	return 0;
}

static int add(void *sum, const void *part)
{
	const struct traced_calls *from = part;
	struct traced_calls *to = sum;

	to->is_known |= from->is_known;
	to->process_ns += from->process_ns;
	for (size_t i = 0; i < from->count; i++) {
		struct traced_function *f = get(to, from->items[i].key);

		if (!f)
			return -ENOMEM;
		for (size_t n = 0; n < TRACED_NUMBERS; n++)
			f->numbers[n] += from->items[i].numbers[n];
	}
	return 0;
}

static int raise_to(void *to_section, const void *least)
{
	const struct traced_calls *from = least;
	struct traced_calls *to = to_section;

	to->process_ns = MAX(to->process_ns, from->process_ns);
	for (size_t i = 0; i < from->count; i++) {
		struct traced_function *f = get(to, from->items[i].key);

		if (!f)
			return -ENOMEM;
		for (size_t n = 0; n < TRACED_NUMBERS; n++)
			f->numbers[n] = MAX(f->numbers[n], from->items[i].numbers[n]);
	}
	return 0;
}

static uint64_t rise(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

int traced_difference(const struct traced_calls *now, const struct traced_calls *before,
		      struct traced_calls *ret)
{
	ret->is_known = true;
	ret->process_ns = rise(now->process_ns, before->process_ns);
	for (size_t i = 0; i < now->count; i++) {
		const struct traced_function *f = &now->items[i], *was = find(before, f->key);
		struct traced_function *to = get(ret, f->key);

		if (!to)
			return -ENOMEM;
		for (size_t n = 0; n < TRACED_NUMBERS; n++)
			to->numbers[n] = rise(f->numbers[n], was ? was->numbers[n] : 0);
	}
	return 0;
}

/* False: something fell. */
static bool has_only_risen(const struct traced_calls *now, const struct traced_calls *before)
{
	bool has_risen = now->process_ns >= before->process_ns;

	for (size_t i = 0; has_risen && i < before->count; i++) {
		const struct traced_function *was = &before->items[i], *f = find(now, was->key);

		has_risen = f != NULL;
		for (size_t n = 0; has_risen && n < TRACED_NUMBERS; n++)
			has_risen = f->numbers[n] >= was->numbers[n];
	}
	return has_risen;
}

static int subtract(void *later, const void *earlier, struct strings *notes)
{
	struct traced_calls *to = later, difference = {};
	int r = 0;

	if (!to->is_known)
		return 0;
	if (!has_only_risen(to, earlier))
		r = section_note_fallen(notes, "trace");
	else
		r = traced_difference(to, earlier, &difference);
	traced_calls_clear(to);
	*to = difference;
	return r;
}

/* ---- as text ---- */

static void format_function(const struct traced_function *f, struct document *d)
{
	char set[TRACED_NAME_MAX + 1];

	traced_set_name(f, set);
	document_begin_flat_map(d);
	document_put_string(d, "set", set);
	document_put_string(d, "function", traced_function_name(f));
	for (size_t i = METRIC_TRACE_FIRST; i < METRIC_TRACE_END; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		document_key(d, metric->key);
		document_decimal(d, traced_number(f, (enum metric_id)i),
				 metric_unit_places(metric->unit));
	}
	document_end_map(d);
}

static void format(const void *section, struct document *d)
{
	const struct traced_calls *c = section;

	document_begin_map(d);
	document_key(d, "process_seconds");
	document_decimal(d, c->process_ns, metric_unit_places(UNIT_SECONDS));
	document_begin_list_of(d, "functions");
	for (size_t i = 0; i < c->count; i++)
		format_function(&c->items[i], d);
	document_end_list(d);
	document_end_map(d);
}

/* So many that all of them together, and of many records, are a number. */
#define NUMBER_MAX (VALUE_MAX / (TRACED_FUNCTIONS_MAX + 1))

static int take_number(const struct place *place, const json_t *map, const char *key,
		       enum metric_unit unit, uint64_t *ret)
{
	bool is_known;
	int r = place_take_number(place, map, key, metric_unit_places(unit), ret, &is_known);

	if (r == 0 && !is_known)
		return place_refuse(place, key, "is missing");
	if (r == 0 && *ret > NUMBER_MAX)
		return place_refuse(place, key, "is too much");
	return r;
}

static int take_names(const struct place *place, const json_t *map, struct traced_calls *to,
		      struct traced_function **ret)
{
	_cleanup_free_ char *set = NULL, *function = NULL;
	const size_t before = to->count;
	int r = place_take_string(place, map, "set", &set);

	if (r == 0)
		r = place_take_string(place, map, "function", &function);
	if (r < 0)
		return r;
	r = set && function ? traced_get(to, set, function, ret) : -EINVAL;
	if (r == -EINVAL)
		return place_refuse(place, "", "has no set and function of 1 to %d plain bytes",
				    TRACED_NAME_MAX);
	if (r == 0 && to->count == before)
		return place_refuse(place, "", "names what stands there already");
	return r;
}

static int take_function(const struct place *place, const json_t *map, void *ret)
{
	struct traced_function *f = NULL;
	int r = take_names(place, map, ret, &f);

	if (r < 0 || !f)
		return r;
	for (size_t i = METRIC_TRACE_FIRST; r == 0 && i < METRIC_TRACE_END; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		r = take_number(place, map, metric->key, metric->unit,
				traced_number_ref(f, (enum metric_id)i));
	}
	if (r == 0 &&
	    MAX(traced_number(f, METRIC_TRACE_FAILED), traced_number(f, METRIC_TRACE_UNSIZED)) >
		    traced_number(f, METRIC_TRACE_CALLS))
		r = place_refuse(place, "", "has more of its calls than calls");
	return r;
}

static int parse(const struct place *place, const json_t *map, void *section)
{
	const struct place list_place = place_below(place, "functions");
	struct traced_calls *ret = section;
	const json_t *list = NULL;
	int r = take_number(place, map, "process_seconds", UNIT_SECONDS, &ret->process_ns);

	ret->is_known = true;
	if (r == 0)
		r = place_get(place, map, "functions", JSON_ARRAY, &list);
	return r < 0 || !list ? r
			      : place_each(&list_place, list, TRACED_FUNCTIONS_MAX + 1,
					   take_function, ret);
}

/* ---- as a table ---- */

static const char *thing(const void *section, size_t i)
{
	const struct traced_calls *c = section;

	return i < c->count ? c->items[i].key : NULL;
}

static bool number(const void *section, const char *key, enum metric_id id, uint64_t *ret)
{
	const struct traced_function *f = key ? find(section, key) : NULL;

	*ret = f ? traced_number(f, id) : 0;
	return f;
}

static const struct section_table table = {
	.label = "function",
	.first = METRIC_TRACE_FIRST,
	.end = METRIC_TRACE_END,
	.thing = thing,
	.number = number,
};

static const void *idle(const void *section)
{
	static const struct traced_calls idle_ones[2] = { [1] = { .is_known = true } };
	const struct traced_calls *c = section;

	return c->count || c->process_ns ? NULL : &idle_ones[c->is_known];
}

const struct section trace_section = {
	.name = "trace",
	.size = sizeof(struct traced_calls),
	.counted = COUNTED_BY_SOURCE,
	.is_partial = true,
	.begin = begin,
	.clear = traced_calls_clear,
	.idle = idle,
	.add = add,
	.raise = raise_to,
	.subtract = subtract,
	.format = format,
	.type = JSON_OBJECT,
	.parse = parse,
	.table = &table,
};
