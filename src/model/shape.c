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

static void *at(const struct field *f, const void *of)
{
	return (char *)of + f->offset;
}

/* ---- numbers: cells of 64 bits, one behind the other ---- */

/* Of the first, the others behind it as in the table; NULL: it is no metric's. */
static const struct metric *metrics_of(const struct field *f)
{
	return f->end > f->first ? metric_get(f->first) : NULL;
}

static size_t count_cells(const struct field *f)
{
	const struct metric *metrics = metrics_of(f);
	const size_t count = f->end - f->first;

	if (!metrics)
		return f->kind == SHAPE_NUMBER;
	return metrics[count - 1].kind == KIND_HISTOGRAM ? count - 1 + HISTOGRAM_BUCKETS : count;
}

static bool is_sum(const struct field *f, const struct metric *metrics, size_t cell)
{
	return f->first + cell >= f->end || metrics[cell].kind == KIND_COUNTER ||
	       metrics[cell].kind == KIND_HISTOGRAM;
}

static struct value get(const struct field *f, const void *of, size_t cell)
{
	if (f->kind == SHAPE_VALUES)
		return ((const struct value *)at(f, of))[cell];
	return (struct value){ ((const uint64_t *)at(f, of))[cell], true };
}

static void set(const struct field *f, void *of, size_t cell, uint64_t number, bool is_known)
{
	if (f->kind == SHAPE_VALUES)
		((struct value *)at(f, of))[cell] = (struct value){ is_known ? number : 0,
								    is_known };
	else
		((uint64_t *)at(f, of))[cell] = number;
}

static void join_numbers(const struct field *f, bool is_raised, void *to, const void *from)
{
	const struct metric *metrics = metrics_of(f);

	for (size_t i = 0, cells = count_cells(f); i < cells; i++) {
		const struct value a = get(f, to, i), b = get(f, from, i);
		const uint64_t sum = MIN((uint64_t)a.number + b.number, VALUE_MAX),
			       greater = MAX((uint64_t)a.number, (uint64_t)b.number);

		set(f, to, i, !is_raised && is_sum(f, metrics, i) ? sum : greater,
		    f->flags & SHAPE_PARTIAL ? a.is_known || b.is_known : a.is_known && b.is_known);
	}
}

/* False: a sum fell.  A peak that did not rise may be from before. */
static bool subtract_numbers(const struct field *f, void *to, const void *from)
{
	const struct metric *metrics = metrics_of(f);
	bool is_well = true;

	for (size_t i = 0, cells = count_cells(f); i < cells; i++) {
		const struct value now = get(f, to, i), before = get(f, from, i);
		const bool has_risen = now.number > before.number;

		if (is_sum(f, metrics, i)) {
			is_well &= now.number >= before.number;
			set(f, to, i, has_risen ? now.number - before.number : 0, now.is_known);
		} else if (metrics[i].kind == KIND_PEAK) {
			set(f, to, i, now.number, now.is_known && has_risen);
		}
	}
	return is_well;
}

/* No sum is above 0. */
static bool is_idle(const struct field *f, const void *of)
{
	const struct metric *metrics = metrics_of(f);

	for (size_t i = 0, cells = count_cells(f); i < cells; i++) {
		if (is_sum(f, metrics, i) && get(f, of, i).number)
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
	for (size_t i = 0; i < f->end - f->first; i++) {
		const struct metric *metric = metrics_of(f) + i;
		const struct value value = get(f, of, i);

		if (metric->kind == KIND_HISTOGRAM)
			histogram_format(metric, (void *)((uint64_t *)at(f, of) + i), d);
		else
			metric_format(metric, value.is_known, value.number, d);
	}
	if (f->key)
		document_end_map(d);
}

static int take_number(const struct field *f, const struct place *place, const json_t *map,
		       const char *key, enum metric_unit unit, size_t cell, void *ret)
{
	struct value value = {};
	int r = value_take(place, map, key, metric_unit_places(unit), &value);

	set(f, ret, cell, value.number, value.is_known);
	if (r == 0 && !value.is_known && f->flags & SHAPE_NEEDED && is_sum(f, metrics_of(f), cell))
		return place_refuse(place, key, "is missing");
	if (r == 0 && f->most && value.number > f->most)
		return place_refuse(place, key, "is too much");
	return r;
}

static int parse_numbers(const struct field *f, const struct place *place, const json_t *map,
			 void *ret)
{
	const struct place below = place_below(place, f->key), *here = f->key ? &below : place;
	int r = f->key ? place_get(place, map, f->key, JSON_OBJECT, &map) : 0;
	bool is_known;

	for (size_t i = 0; r == 0 && map && i < f->end - f->first; i++) {
		const struct metric *metric = metrics_of(f) + i;

		r = metric->kind == KIND_HISTOGRAM
			    ? histogram_take(here, map, metric,
					     (void *)((uint64_t *)at(f, ret) + i), &is_known)
			    : take_number(f, here, map, metric->key, metric->unit, i, ret);
	}
	return r;
}

/* ---- lists ---- */

struct list { /* however its items are declared */
	void *items;
	size_t count;
} __attribute__((may_alias));

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
	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(at(&rows->fields[0], row_of(rows, l, i)), SHAPE_OTHER) == 0)
			return row_of(rows, l, i);
	}
	return NULL;
}

/* There is room for a power of two. */
static void *append(const struct shape *rows, struct list *l, const void *row)
{
	if ((l->count & (l->count - 1)) == 0) {
		void *larger = reallocarray(l->items, MAX(l->count * 2, (size_t)1), rows->size);

		if (!larger)
			return NULL;
		l->items = larger;
	}
	return memcpy(row_of(rows, l, l->count++), row, rows->size);
}

/* A new one is a copy of @like.  NULL: no memory. */
static void *get_row(const struct shape *rows, struct list *l, const void *like, bool *ret_is_new)
{
	void *other = find_other(rows, l), *row = find(rows, l, like);
	const bool is_full = l->count >= rows->max + (other != NULL);

	if (!row && is_full)
		row = other;
	*ret_is_new = !row;
	if (row)
		return row;
	row = append(rows, l, like);
	for (size_t i = 0; row && is_full && i < rows->count; i++) {
		if (rows->fields[i].kind == SHAPE_TEXT)
			memcpy(at(&rows->fields[i], row), SHAPE_OTHER, sizeof(SHAPE_OTHER));
	}
	return row;
}

static void sort(const struct shape *rows, struct list *l)
{
	if (rows->order && l->count > 1)
		qsort(l->items, l->count, rows->size, rows->order);
}

static int join_row(const struct shape *rows, bool is_raised, struct list *l, const void *row)
{
	bool is_new;
	void *sum = get_row(rows, l, row, &is_new);

	if (!sum)
		return -ENOMEM;
	return is_new ? 0 : shape_join(rows, is_raised, sum, row);
}

static int join_list(const struct shape *rows, bool is_raised, struct list *l,
		     const struct list *more)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < more->count; i++)
		r = join_row(rows, is_raised, l, row_of(rows, more, i));
	sort(rows, l);
	return r;
}

static bool subtract_list(const struct shape *rows, struct list *l, const struct list *before)
{
	bool is_well = true;
	size_t kept = 0;

	for (size_t i = 0; i < before->count; i++)
		is_well &= find(rows, l, row_of(rows, before, i)) != NULL;
	for (size_t i = 0; i < l->count; i++) {
		void *row = row_of(rows, l, i);
		const void *was = find(rows, before, row);

		if (was)
			is_well &= shape_subtract(rows, row, was);
		if (!was || !shape_is_empty(rows, row))
			memmove(row_of(rows, l, kept++), row, rows->size);
	}
	l->count = kept;
	sort(rows, l);
	return is_well;
}

static void format_list(const struct field *f, const struct list *l, struct document *d)
{
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

static int parse_row(const struct place *place, const json_t *map, void *ret)
{
	const struct parsed_list *p = ret;
	_cleanup_free_ void *blank = calloc(1, p->rows->size);
	void *row = blank ? append(p->rows, p->list, blank) : NULL;
	const struct field *key = p->rows->fields;
	int r = row ? shape_parse(p->rows, place, map, row) : -ENOMEM;

	while (!(key->flags & SHAPE_KEY))
		key++;
	if (r == 0 && find(p->rows, p->list, row) != row)
		return place_refuse(place, key->key, "stands there twice");
	return r == 0 && p->rows->check ? p->rows->check(place, row) : r;
}

static int parse_list(const struct field *f, const struct place *place, const json_t *json,
		      struct list *ret)
{
	const struct place below = place_below(place, f->key), *here = f->key ? &below : place;
	struct parsed_list p = { f->rows, ret };
	int r = f->key ? place_get(place, json, f->key, JSON_ARRAY, &json) : 0;

	if (r == 0 && json)
		r = place_each(here, json, f->rows->max + 1, parse_row, &p);
	if (r == 0 && ret->count > f->rows->max && !find_other(f->rows, ret))
		r = place_refuse(here, "", "has more than %zu entries", f->rows->max);
	sort(f->rows, ret);
	return r;
}

/* ---- fields ---- */

void shape_clear(const struct shape *s, void *of)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->fields[i].kind == SHAPE_LIST)
			free(((struct list *)at(&s->fields[i], of))->items);
	}
	memset(of, 0, s->size);
}

bool shape_is_empty(const struct shape *s, const void *of)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct field *f = &s->fields[i];

		if (f->kind == SHAPE_LIST ? ((const struct list *)at(f, of))->count > 0
					  : !is_idle(f, of))
			return false;
	}
	return true;
}

int shape_join(const struct shape *s, bool is_raised, void *to, const void *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->count; i++) {
		const struct field *f = &s->fields[i];

		if (f->kind == SHAPE_LIST)
			r = join_list(f->rows, is_raised, at(f, to), at(f, from));
		else
			join_numbers(f, is_raised, to, from);
	}
	return r;
}

bool shape_subtract(const struct shape *s, void *later, const void *earlier)
{
	bool is_well = true;

	for (size_t i = 0; i < s->count; i++) {
		const struct field *f = &s->fields[i];

		if (f->kind == SHAPE_LIST)
			is_well &= subtract_list(f->rows, at(f, later), at(f, earlier));
		else
			is_well &= subtract_numbers(f, later, earlier);
	}
	return is_well;
}

void shape_format(const struct shape *s, const void *of, struct document *d)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct field *f = &s->fields[i];

		if (f->kind == SHAPE_TEXT) {
			document_put_string(d, f->key, at(f, of));
		} else if (f->kind == SHAPE_LIST) {
			format_list(f, at(f, of), d);
		} else if (f->kind == SHAPE_NUMBER) {
			document_key(d, f->key);
			document_decimal(d, get(f, of, 0).number, metric_unit_places(f->unit));
		} else {
			format_numbers(f, of, d);
		}
	}
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
		memcpy(at(f, ret), text, strlen(text) + 1);
	return 0;
}

int shape_parse(const struct shape *s, const struct place *place, const json_t *json, void *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->count; i++) {
		const struct field *f = &s->fields[i];

		if (f->kind == SHAPE_TEXT)
			r = parse_text(f, place, json, ret);
		else if (f->kind == SHAPE_LIST)
			r = parse_list(f, place, json, at(f, ret));
		else if (f->kind == SHAPE_NUMBER)
			r = take_number(f, place, json, f->key, f->unit, 0, ret);
		else
			r = parse_numbers(f, place, json, ret);
	}
	return r;
}

/* ---- rows ---- */

static const struct field *list_field(const struct shape *s)
{
	const struct field *f = s->fields;

	while (f->kind != SHAPE_LIST)
		f++;
	return f;
}

void *shape_find(const struct shape *s, const void *of, const void *like)
{
	const struct field *f = list_field(s);

	return find(f->rows, at(f, of), like);
}

void *shape_row(const struct shape *s, void *of, const void *like)
{
	const struct field *f = list_field(s);
	bool is_new;

	return get_row(f->rows, at(f, of), like, &is_new);
}

int shape_add_row(const struct shape *s, void *of, const void *row)
{
	const struct field *f = list_field(s);

	return join_row(f->rows, false, at(f, of), row);
}

void shape_sort(const struct shape *s, void *of)
{
	sort(list_field(s)->rows, at(list_field(s), of));
}

const void *shape_at(const struct shape *s, const void *of, size_t i)
{
	const struct field *f = list_field(s);
	const struct list *l = at(f, of);

	return i < l->count ? row_of(f->rows, l, i) : NULL;
}

static const struct field *numbers_of(const struct shape *s, enum metric_id id)
{
	const struct field *f = list_field(s)->rows->fields;

	while (id < f->first || id >= f->end)
		f++;
	return f;
}

struct value shape_number(const struct shape *s, const void *row, enum metric_id id)
{
	return get(numbers_of(s, id), row, id - numbers_of(s, id)->first);
}

bool shape_has(const struct shape *s, const void *row, enum metric_id id)
{
	return !is_idle(numbers_of(s, id), row);
}

struct value shape_total(const struct shape *s, const void *of, enum metric_id id)
{
	struct value total = { 0, numbers_of(s, id)->kind == SHAPE_NUMBERS };
	const void *row;

	for (size_t i = 0; (row = shape_at(s, of, i)); i++) {
		const struct value more = shape_number(s, row, id);

		total.is_known |= more.is_known;
		total.number = metric_get(id)->kind == KIND_COUNTER
				       ? MIN((uint64_t)total.number + more.number, VALUE_MAX)
				       : MAX((uint64_t)total.number, (uint64_t)more.number);
	}
	return total;
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
						 used ? "/" : "", (const char *)at(f, row));
	}
	return ret;
}
