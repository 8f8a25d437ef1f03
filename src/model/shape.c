/* SPDX-License-Identifier: MIT */
#include "model/shape.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "model/document.h"
#include "model/histogram_json.h"
#include "model/json_place.h"
#include "model/metric_json.h"

static const char *at(const struct field *f, const void *of)
{
	return (const char *)of + f->offset;
}

/* ---- numbers ---- */

static enum metric_kind kind_of(size_t id)
{
	return metric_get((enum metric_id)id)->kind;
}

/* Where that of a metric stands: uint64_t, struct value or struct histogram. */
static void *number_at(const struct field *f, const void *of, size_t id)
{
	return (char *)at(f, of) + (id - f->first) * sizeof(uint64_t);
}

static struct value get(const struct field *f, const void *of, size_t id)
{
	const void *number = number_at(f, of, id);

	return f->kind == SHAPE_VALUES ? *(const struct value *)number
				       : (struct value){ *(const uint64_t *)number, true };
}

static void set(const struct field *f, void *of, size_t id, struct value value)
{
	void *number = number_at(f, of, id);

	if (f->kind == SHAPE_VALUES)
		*(struct value *)number = value;
	else
		*(uint64_t *)number = value.number;
}

static struct value join(const struct field *f, bool is_sum, struct value a, struct value b)
{
	const bool is_known = f->flags & SHAPE_PARTIAL ? a.is_known || b.is_known
						       : a.is_known && b.is_known;
	const uint64_t number = is_sum ? MIN((uint64_t)a.number + b.number, VALUE_MAX)
				       : MAX((uint64_t)a.number, (uint64_t)b.number);

	return is_known ? (struct value){ number, true } : (struct value){};
}

static uint64_t join_number(bool is_sum, uint64_t a, uint64_t b)
{
	return is_sum ? MIN(a + b, VALUE_MAX) : MAX(a, b);
}

static void join_numbers(const struct field *f, bool is_raised, void *to, const void *from)
{
	for (size_t id = f->first; id < f->end; id++) {
		uint64_t *counts = number_at(f, to, id);
		const uint64_t *more = number_at(f, from, id);

		if (kind_of(id) != KIND_HISTOGRAM)
			set(f, to, id,
			    join(f, !is_raised && kind_of(id) == KIND_COUNTER, get(f, to, id),
				 get(f, from, id)));
		for (size_t i = 0; kind_of(id) == KIND_HISTOGRAM && i < HISTOGRAM_BUCKETS; i++)
			counts[i] = join_number(!is_raised, counts[i], more[i]);
	}
}

static bool take_off(uint64_t *to, uint64_t from)
{
	const bool is_well = from <= *to;

	*to -= is_well ? from : *to;
	return is_well;
}

static bool subtract_value(const struct field *f, size_t id, void *to, const void *from)
{
	const struct value before = get(f, from, id);
	struct value value = get(f, to, id);
	uint64_t number = value.number;
	bool is_well = true;

	if (kind_of(id) == KIND_COUNTER)
		is_well = take_off(&number, before.number);
	else if (kind_of(id) == KIND_PEAK)
		value.is_known &= number > before.number; /* else it may be from before */
	value.number = number;
	set(f, to, id, value);
	return is_well;
}

static bool subtract_numbers(const struct field *f, void *to, const void *from)
{
	bool is_well = true;

	for (size_t id = f->first; id < f->end; id++) {
		uint64_t *counts = number_at(f, to, id);
		const uint64_t *before = number_at(f, from, id);

		if (kind_of(id) != KIND_HISTOGRAM)
			is_well &= subtract_value(f, id, to, from);
		for (size_t i = 0; kind_of(id) == KIND_HISTOGRAM && i < HISTOGRAM_BUCKETS; i++)
			is_well &= take_off(&counts[i], before[i]);
	}
	return is_well;
}

/* No counter is above 0. */
static bool is_idle(const struct field *f, const void *of)
{
	for (size_t id = f->first; id < f->end; id++) {
		if (kind_of(id) == KIND_COUNTER && get(f, of, id).number)
			return false;
	}
	return true;
}

static void format_numbers(const struct field *f, const void *of, struct document *d)
{
	if (f->key && is_idle(f, of))
		return;
	if (f->key)
		document_begin_map_of(d, f->key);
	for (size_t id = f->first; id < f->end; id++) {
		const struct metric *metric = metric_get((enum metric_id)id);
		const struct value value = get(f, of, id);

		if (metric->kind == KIND_HISTOGRAM)
			histogram_format(metric, number_at(f, of, id), d);
		else
			metric_format(metric, value.is_known, value.number, d);
	}
	if (f->key)
		document_end_map(d);
}

static int check_number(const struct field *f, const struct place *place, const char *key,
			struct value value, bool is_counter)
{
	if (!value.is_known && is_counter && f->flags & SHAPE_NEEDED)
		return place_refuse(place, key, "is missing");
	return f->most && value.number > f->most ? place_refuse(place, key, "is too much") : 0;
}

static int parse_number(const struct field *f, const struct place *place, const json_t *map,
			size_t id, void *ret)
{
	const struct metric *metric = metric_get((enum metric_id)id);
	struct value value = {};
	bool is_known;
	int r;

	if (metric->kind == KIND_HISTOGRAM)
		return histogram_take(place, map, metric, number_at(f, ret, id), &is_known);
	r = metric_take(place, map, metric, &value);
	if (r == 0)
		r = check_number(f, place, metric->key, value, metric->kind == KIND_COUNTER);
	set(f, ret, id, value);
	return r;
}

static int parse_numbers(const struct field *f, const struct place *place, const json_t *map,
			 void *ret)
{
	const struct place below = place_below(place, f->key);
	int r = f->key ? place_get(place, map, f->key, JSON_OBJECT, &map) : 0;

	for (size_t id = f->first; r == 0 && map && id < f->end; id++)
		r = parse_number(f, f->key ? &below : place, map, id, ret);
	return r;
}

/* ---- lists ---- */

struct list { /* however its items are declared */
	void *items;
	size_t count;
} __attribute__((may_alias));

static struct list *list_of(const struct field *f, const void *of)
{
	return (struct list *)(void *)at(f, of);
}

static void *row_of(const struct shape *rows, const struct list *l, size_t i)
{
	return (char *)l->items + i * rows->size;
}

static bool has_same_keys(const struct shape *rows, const void *a, const void *b)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct field *f = &rows->fields[i];

		if (f->flags & SHAPE_KEY && strcmp(at(f, a), at(f, b)) != 0)
			return false;
	}
	return true;
}

static void *find(const struct shape *rows, const struct list *l, const void *like)
{
	for (size_t i = 0; i < l->count; i++) {
		if (has_same_keys(rows, row_of(rows, l, i), like))
			return row_of(rows, l, i);
	}
	return NULL;
}

static void *find_other(const struct shape *rows, const struct list *l)
{
	for (size_t i = 0; rows->has_other && i < l->count; i++) {
		if (strcmp(at(&rows->fields[0], row_of(rows, l, i)), SHAPE_OTHER) == 0)
			return row_of(rows, l, i);
	}
	return NULL;
}

/* Room is a power of two, at least. */
static void *append(const struct shape *rows, struct list *l, const void *row)
{
	void *larger = l->items;

	if ((l->count & (l->count - 1)) == 0) {
		larger = reallocarray(l->items, MAX(l->count * 2, (size_t)1), rows->size);
		if (!larger)
			return NULL;
		l->items = larger;
	}
	return memcpy(row_of(rows, l, l->count++), row, rows->size);
}

/* *@ret is a copy of @like where @ret_is_new. */
static int get_row(const struct shape *rows, struct list *l, const void *like, void **ret,
		   bool *ret_is_new)
{
	void *other = find_other(rows, l);
	const bool is_full = l->count >= rows->max + (other != NULL);

	*ret = find(rows, l, like);
	if (!*ret && is_full && !rows->has_other)
		return -ENOSPC;
	if (!*ret && is_full)
		*ret = other;
	*ret_is_new = !*ret;
	if (*ret)
		return 0;
	*ret = append(rows, l, like);
	for (size_t i = 0; *ret && is_full && i < rows->count; i++) {
		const struct field *f = &rows->fields[i];

		if (f->kind == SHAPE_TEXT)
			snprintf((char *)at(f, *ret), f->size, SHAPE_OTHER);
	}
	return *ret ? 0 : -ENOMEM;
}

static void sort(const struct shape *rows, struct list *l)
{
	if (rows->order && l->count > 1)
		qsort(l->items, l->count, rows->size, rows->order);
}

static int join_fields(const struct shape *s, bool is_raised, void *to, const void *from);

static int join_row(const struct shape *rows, bool is_raised, struct list *l, const void *row)
{
	bool is_new;
	void *sum;
	int r = get_row(rows, l, row, &sum, &is_new);

	return r < 0 || is_new ? r : join_fields(rows, is_raised, sum, row);
}

static int join_list(const struct field *f, bool is_raised, void *to, const void *from)
{
	const struct list *more = list_of(f, from);
	int r = 0;

	for (size_t i = 0; r == 0 && i < more->count; i++) {
		r = join_row(f->rows, is_raised, list_of(f, to), row_of(f->rows, more, i));
		r = r == -ENOSPC ? 0 : r;
	}
	sort(f->rows, list_of(f, to));
	return r;
}

static bool subtract_list(const struct field *f, void *later, const void *earlier)
{
	const struct list *before = list_of(f, earlier);
	struct list *l = list_of(f, later);
	bool is_well = true;
	size_t kept = 0;

	for (size_t i = 0; i < before->count; i++)
		is_well &= find(f->rows, l, row_of(f->rows, before, i)) != NULL;
	for (size_t i = 0; i < l->count; i++) {
		void *row = row_of(f->rows, l, i);
		const void *was = find(f->rows, before, row);

		if (was)
			is_well &= shape_subtract(f->rows, row, was);
		if (!was || !shape_is_empty(f->rows, row))
			memmove(row_of(f->rows, l, kept++), row, f->rows->size);
	}
	l->count = kept;
	sort(f->rows, l);
	return is_well;
}

static void format_list(const struct field *f, const void *of, struct document *d)
{
	const struct list *l = list_of(f, of);

	if (f->key)
		document_key(d, f->key);
	document_begin_list(d);
	for (size_t i = 0; i < l->count; i++) {
		if (f->rows->is_flat)
			document_begin_flat_map(d);
		else
			document_begin_map(d);
		shape_format(f->rows, row_of(f->rows, l, i), d);
		document_end_map(d);
	}
	document_end_list(d);
}

struct parsed_list {
	const struct shape *rows;
	struct list *list;
};

static const char *first_key(const struct shape *rows)
{
	size_t i = 0;

	while (i < rows->count - 1 && !(rows->fields[i].flags & SHAPE_KEY))
		i++;
	return rows->fields[i].key;
}

static int parse_row(const struct place *place, const json_t *map, void *ret)
{
	const struct parsed_list *p = ret;
	_cleanup_free_ void *blank = calloc(1, p->rows->size);
	void *row = blank ? append(p->rows, p->list, blank) : NULL;
	int r = row ? shape_parse(p->rows, place, map, row) : -ENOMEM;

	if (r == 0 && find(p->rows, p->list, row) != row)
		return place_refuse(place, first_key(p->rows), "stands there twice");
	return r == 0 && p->rows->check ? p->rows->check(place, row) : r;
}

static int parse_list(const struct field *f, const struct place *place, const json_t *json,
		      void *ret)
{
	struct parsed_list p = { f->rows, list_of(f, ret) };
	const struct place below = place_below(place, f->key);
	const struct place *here = f->key ? &below : place;
	int r = f->key ? place_get(place, json, f->key, JSON_ARRAY, &json) : 0;

	if (r == 0 && json)
		r = place_each(here, json, f->rows->max + f->rows->has_other, parse_row, &p);
	if (r == 0 && p.list->count > f->rows->max && !find_other(f->rows, p.list))
		r = place_refuse(here, "", "has more than %zu entries", f->rows->max);
	sort(f->rows, p.list);
	return r;
}

/* ---- fields ---- */

void shape_clear(const struct shape *s, void *of)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->fields[i].kind == SHAPE_LIST)
			free(list_of(&s->fields[i], of)->items);
	}
	memset(of, 0, s->size);
}

bool shape_is_empty(const struct shape *s, const void *of)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct field *f = &s->fields[i];

		if ((f->kind == SHAPE_LIST && list_of(f, of)->count) ||
		    (f->kind == SHAPE_NUMBER && *(const uint64_t *)(const void *)at(f, of)) ||
		    !is_idle(f, of))
			return false;
	}
	return true;
}

bool shape_is_same(const struct shape *s, const void *a, const void *b)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct field *f = &s->fields[i];
		const struct list *x = list_of(f, a), *y = list_of(f, b);

		if (f->kind == SHAPE_LIST &&
		    (x->count != y->count ||
		     (x->count && memcmp(x->items, y->items, x->count * f->rows->size) != 0)))
			return false;
	}
	return true;
}

static int join_fields(const struct shape *s, bool is_raised, void *to, const void *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->count; i++) {
		const struct field *f = &s->fields[i];
		uint64_t *number = (uint64_t *)(void *)at(f, to);

		if (f->kind == SHAPE_LIST)
			r = join_list(f, is_raised, to, from);
		else if (f->kind == SHAPE_NUMBER)
			*number = join_number(!is_raised, *number,
					      *(const uint64_t *)(const void *)at(f, from));
		else
			join_numbers(f, is_raised, to, from); /* a text has none */
	}
	return r;
}

int shape_add(const struct shape *s, void *to, const void *from)
{
	return join_fields(s, false, to, from);
}

int shape_raise(const struct shape *s, void *to, const void *least)
{
	return join_fields(s, true, to, least);
}

bool shape_subtract(const struct shape *s, void *later, const void *earlier)
{
	bool is_well = true;

	for (size_t i = 0; i < s->count; i++) {
		const struct field *f = &s->fields[i];

		if (f->kind == SHAPE_LIST)
			is_well &= subtract_list(f, later, earlier);
		else if (f->kind == SHAPE_NUMBER)
			is_well &= take_off((uint64_t *)(void *)at(f, later),
					    *(const uint64_t *)(const void *)at(f, earlier));
		else
			is_well &= subtract_numbers(f, later, earlier);
	}
	return is_well;
}

static void format_field(const struct field *f, const void *of, struct document *d)
{
	switch (f->kind) {
	case SHAPE_TEXT:
		document_put_string(d, f->key, at(f, of));
		break;
	case SHAPE_NUMBER:
		document_key(d, f->key);
		document_decimal(d, *(const uint64_t *)(const void *)at(f, of),
				 metric_unit_places(f->unit));
		break;
	case SHAPE_NUMBERS:
	case SHAPE_VALUES:
		format_numbers(f, of, d);
		break;
	case SHAPE_LIST:
		format_list(f, of, d);
		break;
	}
}

void shape_format(const struct shape *s, const void *of, struct document *d)
{
	for (size_t i = 0; i < s->count; i++)
		format_field(&s->fields[i], of, d);
}

static int parse_text(const struct field *f, const struct place *place, const json_t *map,
		      void *ret)
{
	_cleanup_free_ char *text = NULL;
	int r = place_take_string(place, map, f->key, &text);

	if (r < 0)
		return r;
	if (f->flags & SHAPE_KEY && (!text || !*text))
		return place_refuse(place, f->key, "is missing");
	if (text && strlen(text) >= f->size)
		return place_refuse(place, f->key, "has more than %zu bytes", f->size - 1);
	if (text)
		memcpy((char *)at(f, ret), text, strlen(text) + 1);
	return 0;
}

static int parse_field(const struct field *f, const struct place *place, const json_t *json,
		       void *ret)
{
	struct value value = {};
	int r;

	switch (f->kind) {
	case SHAPE_TEXT:
		return parse_text(f, place, json, ret);
	case SHAPE_NUMBER:
		r = value_take(place, json, f->key, metric_unit_places(f->unit), &value);
		*(uint64_t *)(void *)at(f, ret) = value.number;
		return r < 0 ? r : check_number(f, place, f->key, value, true);
	case SHAPE_NUMBERS:
	case SHAPE_VALUES:
		return parse_numbers(f, place, json, ret);
	case SHAPE_LIST:
		return parse_list(f, place, json, ret);
	}
	return 0;
}

int shape_parse(const struct shape *s, const struct place *place, const json_t *json, void *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->count; i++)
		r = parse_field(&s->fields[i], place, json, ret);
	return r;
}

/* ---- rows ---- */

static const struct field *list_field(const struct shape *s)
{
	size_t i = 0;

	while (s->fields[i].kind != SHAPE_LIST)
		i++;
	return &s->fields[i];
}

void *shape_find(const struct shape *s, const void *of, const void *like)
{
	const struct field *f = list_field(s);

	return find(f->rows, list_of(f, of), like);
}

int shape_row(const struct shape *s, void *of, const void *like, void **ret)
{
	const struct field *f = list_field(s);
	bool is_new;

	return get_row(f->rows, list_of(f, of), like, ret, &is_new);
}

int shape_add_row(const struct shape *s, void *of, const void *row)
{
	const struct field *f = list_field(s);

	return join_row(f->rows, false, list_of(f, of), row);
}

void shape_sort(const struct shape *s, void *of)
{
	sort(list_field(s)->rows, list_of(list_field(s), of));
}

const void *shape_at(const struct shape *s, const void *of, size_t i)
{
	const struct field *f = list_field(s);
	const struct list *l = list_of(f, of);

	return i < l->count ? row_of(f->rows, l, i) : NULL;
}

static const struct field *numbers_of(const struct shape *s, enum metric_id id)
{
	const struct shape *rows = list_field(s)->rows;
	size_t i = 0;

	while (id < rows->fields[i].first || id >= rows->fields[i].end)
		i++;
	return &rows->fields[i];
}

struct value shape_number(const struct shape *s, const void *row, enum metric_id id)
{
	return get(numbers_of(s, id), row, id);
}

bool shape_has(const struct shape *s, const void *row, enum metric_id id)
{
	return !is_idle(numbers_of(s, id), row);
}

struct value shape_total(const struct shape *s, const void *of, enum metric_id id)
{
	const struct field *f = numbers_of(s, id);
	struct field partial = *f;
	struct value sum = { 0, f->kind == SHAPE_NUMBERS };
	const void *row;

	partial.flags |= SHAPE_PARTIAL;
	for (size_t i = 0; (row = shape_at(s, of, i)); i++)
		sum = join(&partial, kind_of(id) == KIND_COUNTER, sum, get(f, row, id));
	return sum;
}

const char *shape_name(const struct shape *s, const void *row, char ret[SHAPE_NAME_SIZE])
{
	const struct shape *rows = list_field(s)->rows;
	size_t used = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < rows->count; i++) {
		const struct field *f = &rows->fields[i];

		if (f->flags & SHAPE_KEY)
			used += (size_t)snprintf(ret + used, SHAPE_NAME_SIZE - used, "%s%s",
						 used ? "/" : "", at(f, row));
	}
	return ret;
}
