/* SPDX-License-Identifier: MIT */
#include "model/shape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "basic/text.h"
#include "model/document.h"
#include "model/json_place.h"
#include "model/metric_json.h"
#include "model/record.h"

static void *at(const struct field *f, const void *of)
{
	return (char *)of + f->offset;
}

/* Whose hooks are asked, in what is formatted or parsed. */
struct walk {
	const struct shape *shape; /* the innermost that has any */
	void *root, *row;
};

static struct walk walk_below(const struct walk *w, const struct shape *s, const void *of)
{
	return s->knows ? (struct walk){ s, w->root, (void *)of } : *w;
}

static bool is_known(const struct walk *w, enum metric_id id)
{
	return !w->shape->knows || w->shape->knows(w->root, w->row, id);
}

static bool may_lack(const struct walk *w, enum metric_id id)
{
	return w->shape->lacks && w->shape->lacks(w->root, w->row, id);
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
		return f->kind == SHAPE_NUMBER && !(f->flags & SHAPE_ALONE);
	return metrics[count - 1].kind == KIND_HISTOGRAM ? count - 1 + HISTOGRAM_BUCKETS : count;
}

static bool is_sum(const struct field *f, const struct metric *metrics, size_t cell)
{
	return f->first + cell >= f->end || metrics[cell].kind == KIND_COUNTER ||
	       metrics[cell].kind == KIND_HISTOGRAM;
}

static struct value get(const struct field *f, const void *of, size_t cell)
{
	if (f->kind == SHAPE_VALUES || f->kind == SHAPE_VALUE)
		return ((const struct value *)at(f, of))[cell];
	return (struct value){ MIN(((const uint64_t *)at(f, of))[cell], VALUE_MAX), true };
}

static void set(const struct field *f, void *of, size_t cell, uint64_t number, bool is_known)
{
	if (f->kind == SHAPE_VALUES || f->kind == SHAPE_VALUE)
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

	if (f->kind == SHAPE_MAP)
		return shape_is_empty(f->rows, at(f, of));
	for (size_t i = 0, cells = count_cells(f); i < cells; i++) {
		if (is_sum(f, metrics, i) && get(f, of, i).number)
			return false;
	}
	return true;
}

/* ---- whole numbers, of any size ---- */

static uint64_t get_uint(const struct field *f, const void *of)
{
	const void *from = at(f, of);

	return f->size == 1   ? *(const uint8_t *)from
	       : f->size == 4 ? *(const uint32_t *)from
			      : *(const uint64_t *)from;
}

static void set_uint(const struct field *f, void *of, uint64_t number)
{
	if (f->size == 1)
		*(uint8_t *)at(f, of) = (uint8_t)number;
	else if (f->size == 4)
		*(uint32_t *)at(f, of) = (uint32_t)number;
	else
		*(uint64_t *)at(f, of) = number;
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

static const char *text_of(const struct field *f, const void *of)
{
	return f->kind == SHAPE_TEXT ? at(f, of) : *(char *const *)at(f, of);
}

static bool is_same_key(const struct field *f, const void *a, const void *b)
{
	return f->kind == SHAPE_WORD ? get_uint(f, a) == get_uint(f, b)
				     : text_is_equal(text_of(f, a), text_of(f, b));
}

static bool has_same_keys(const struct shape *rows, const void *a, const void *b)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct field *f = &rows->fields[i];

		if (f->flags & SHAPE_KEY && !is_same_key(f, a, b))
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
		if (text_is_equal(text_of(&rows->fields[0], row_of(rows, l, i)), SHAPE_OTHER))
			return row_of(rows, l, i);
	}
	return NULL;
}

/* There is room for a power of two.  @row: NULL: a blank one. */
static void *append(const struct shape *rows, struct list *l, const void *row)
{
	if ((l->count & (l->count - 1)) == 0) {
		void *larger = reallocarray(l->items, MAX(l->count * 2, (size_t)1), rows->size);

		if (!larger)
			return NULL;
		l->items = larger;
	}
	row = row ? row : rows->blank;
	return row ? memcpy(row_of(rows, l, l->count++), row, rows->size)
		   : memset(row_of(rows, l, l->count++), 0, rows->size);
}

/* A new one is a copy of @like.  NULL: no memory. */
static void *get_row(const struct shape *rows, struct list *l, const void *like, bool *ret_is_new)
{
	void *other = find_other(rows, l), *row = find(rows, l, like);
	const bool is_full = l->count >= rows->max + (other != NULL);

	if (!row && is_full)
		row = rows->has_other ? other : row_of(rows, l, l->count - 1);
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
	if (!is_new && !is_raised && rows->join)
		rows->join(sum, row);
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

/* ---- fields ---- */

static void free_strings(const struct shape *s, void *of);

static void free_field(const struct field *f, void *of)
{
	char **texts = at(f, of);
	struct list *l = at(f, of);

	if (f->kind == SHAPE_MAP)
		free_strings(f->rows, at(f, of));
	for (size_t i = 0; f->kind == SHAPE_STRINGS && i < f->size; i++)
		free(texts[i]);
	if (f->kind == SHAPE_STRING)
		free(*texts);
	if (f->kind == SHAPE_LINES)
		strings_clear(at(f, of));
	for (size_t i = 0; f->kind == SHAPE_LIST && i < l->count; i++)
		free_strings(f->rows, row_of(f->rows, l, i));
	if (f->kind == SHAPE_LIST || f->kind == SHAPE_TUPLES)
		free(l->items);
}

static void free_strings(const struct shape *s, void *of)
{
	for (size_t i = 0; i < s->count; i++)
		free_field(&s->fields[i], of);
}

void shape_clear(const struct shape *s, void *of)
{
	free_strings(s, of);
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

/* ---- writing ---- */

static void format_fields(const struct walk *w, const struct shape *s, const void *of,
			  struct document *d);

static void format_text(const struct walk *w UNUSED, const struct field *f, const void *of,
			struct document *d)
{
	const char *text = text_of(f, of);

	document_put_string(d, f->key, text && f->flags & SHAPE_OR_NULL && !*text ? NULL : text);
}

static void format_strings(const struct walk *w UNUSED, const struct field *f, const void *of,
			   struct document *d)
{
	char *const *texts = at(f, of);

	document_begin_flat_list_of(d, f->key);
	for (size_t i = 0; i < f->size && texts[i]; i++)
		document_string(d, texts[i]);
	document_end_list(d);
}

static void format_lines(const struct walk *w UNUSED, const struct field *f, const void *of,
			 struct document *d)
{
	document_put_strings(d, f->key, at(f, of));
}

/* What a field of one value is as an item of a list, too. */
static void format_item(const struct walk *w UNUSED, const struct field *f, const void *of,
			struct document *d)
{
	char text[24];

	if (f->kind == SHAPE_WORD) {
		document_string(d, f->names[get_uint(f, of)]);
	} else if (f->kind == SHAPE_ID) {
		snprintf(text, sizeof(text), "%" PRIu64, *(const uint64_t *)at(f, of));
		document_string(d, text);
	} else if (f->kind == SHAPE_UINT) {
		document_unsigned(d, MIN(get_uint(f, of), (uint64_t)INT64_MAX));
	}
	for (size_t i = 0; f->kind == SHAPE_UINTS && i < f->size; i++)
		document_unsigned(d, MIN(((const uint64_t *)at(f, of))[i], (uint64_t)INT64_MAX));
}

static void format_member(const struct walk *w, const struct field *f, const void *of,
			  struct document *d)
{
	document_key(d, f->key);
	if (f->kind == SHAPE_UINTS)
		document_begin_flat_list(d);
	format_item(w, f, of, d);
	if (f->kind == SHAPE_UINTS)
		document_end_list(d);
}

static void format_time(const struct walk *w UNUSED, const struct field *f, const void *of,
			struct document *d)
{
	document_put_time(d, f->key, *(const uint64_t *)at(f, of));
}

static void format_bool(const struct walk *w UNUSED, const struct field *f, const void *of,
			struct document *d)
{
	document_put_boolean(d, f->key, *(const bool *)at(f, of));
}

static void format_signed(const struct walk *w UNUSED, const struct field *f, const void *of,
			  struct document *d)
{
	const int64_t number = f->size == sizeof(int) ? *(const int *)at(f, of)
						      : *(const int64_t *)at(f, of);

	document_key(d, f->key);
	if (number < 0 || (f->flags & SHAPE_OR_NULL && !number))
		document_null(d);
	else
		document_signed(d, number);
}

static enum metric_unit unit_of(const struct field *f)
{
	return f->kind == SHAPE_VALUE && f->first ? metric_get(f->first)->unit : f->unit;
}

static void format_number(const struct walk *w, const struct field *f, const void *of,
			  struct document *d)
{
	const struct value value = get(f, of, 0);

	document_key(d, f->key);
	if (!value.is_known || (f->flags & SHAPE_OR_NULL && !value.number) ||
	    (f->first && !is_known(w, f->first)))
		document_null(d);
	else
		document_decimal(d, value.number, metric_unit_places(unit_of(f)));
}

static void begin_map(const char *key, bool is_flat, struct document *d)
{
	if (is_flat)
		document_begin_flat_map_of(d, key);
	else
		document_begin_map_of(d, key);
}

static void format_numbers(const struct walk *w, const struct field *f, const void *of,
			   struct document *d)
{
	if (f->key && !(f->flags & SHAPE_ALWAYS) && is_idle(f, of))
		return;
	if (f->key)
		begin_map(f->key, f->flags & SHAPE_FLAT, d);
	for (size_t i = 0; i < f->end - f->first; i++) {
		const struct metric *metric = metrics_of(f) + i;
		const bool is_there = is_known(w, f->first + (enum metric_id)i);
		const struct value value = get(f, of, i);

		if (metric->kind == KIND_HISTOGRAM)
			histogram_format(metric,
					 is_there ? (void *)((uint64_t *)at(f, of) + i) : NULL, d);
		else
			metric_format(metric, is_there && value.is_known, value.number, d);
	}
	if (f->key)
		document_end_map(d);
}

static void format_job_values(const struct walk *w UNUSED, const struct field *f, const void *of,
			      struct document *d)
{
	values_format_all(at(f, of), d);
}

static void format_metrics(const struct walk *w UNUSED, const struct field *f, const void *of,
			   struct document *d)
{
	const struct value *values = at(f, of);

	document_begin_flat_map_of(d, f->key);
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);
		char name[METRIC_PATH_SIZE];

		if (values[i].is_known)
			document_put_unsigned(d, metric_path(metric, name), values[i].number);
	}
	document_end_map(d);
}

static void format_map(const struct walk *w, const struct field *f, const void *of,
		       struct document *d)
{
	if (f->flags & SHAPE_IF_KNOWN ? !*(const bool *)at(f, of)
				      : f->key && !(f->flags & SHAPE_ALWAYS) && is_idle(f, of)) {
		if (f->flags & SHAPE_OR_NULL)
			document_put_string(d, f->key, NULL);
		return;
	}
	if (f->key)
		begin_map(f->key, f->flags & SHAPE_FLAT, d);
	format_fields(w, f->rows, at(f, of), d);
	if (f->key)
		document_end_map(d);
}

static void format_named(const struct walk *w, const struct field *f, const void *of,
			 struct document *d)
{
	if (f->key)
		document_begin_map_of(d, f->key);
	for (size_t i = 0; i < f->size; i++) {
		const void *row = (const char *)at(f, of) + i * f->rows->size;
		const bool is_empty = f->flags & SHAPE_IF_FIRST
					      ? get(&f->rows->fields[0], row, 0).number == 0
					      : shape_is_empty(f->rows, row);

		if (is_empty)
			continue;
		begin_map(f->names[i], f->flags & SHAPE_FLAT, d);
		format_fields(w, f->rows, row, d);
		document_end_map(d);
	}
	if (f->key)
		document_end_map(d);
}

/* Where the number of an array's rows is. */
static size_t *count_of(const struct field *f, const void *of)
{
	return (size_t *)(void *)((char *)at(f, of) + f->rows->max * f->rows->size);
}

static struct list list_of(const struct field *f, const void *of)
{
	return f->kind == SHAPE_ARRAY ? (struct list){ at(f, of), *count_of(f, of) }
				      : *(const struct list *)at(f, of);
}

static void format_list(const struct walk *w, const struct field *f, const void *of,
			struct document *d)
{
	const struct list l = list_of(f, of);

	if (f->key)
		document_key(d, f->key);
	document_begin_list(d);
	for (size_t i = 0; i < l.count; i++) {
		if (f->rows->is_flat)
			document_begin_flat_map(d);
		else
			document_begin_map(d);
		format_fields(w, f->rows, row_of(f->rows, &l, i), d);
		document_end_map(d);
	}
	document_end_list(d);
}

static void format_tuples(const struct walk *w, const struct field *f, const void *of,
			  struct document *d)
{
	const struct list l = list_of(f, of);
	const bool is_flat = f->flags & SHAPE_FLAT;

	if (is_flat)
		document_begin_flat_list_of(d, f->key);
	else
		document_begin_list_of(d, f->key);
	for (size_t i = 0; i < l.count; i++) {
		if (!is_flat)
			document_begin_flat_list(d);
		for (size_t k = 0; k < f->rows->count; k++)
			format_item(w, &f->rows->fields[k], row_of(f->rows, &l, i), d);
		if (!is_flat)
			document_end_list(d);
	}
	document_end_list(d);
}

static bool is_omitted(const struct field *f, const void *of)
{
	switch (f->kind) {
	case SHAPE_STRING:
	case SHAPE_STRINGS:
		return !*(char *const *)at(f, of);
	case SHAPE_BOOL:
		return !*(const bool *)at(f, of);
	case SHAPE_WORD:
	case SHAPE_UINT:
		return !get_uint(f, of);
	case SHAPE_VALUE:
		return !get(f, of, 0).is_known;
	case SHAPE_TUPLES:
		return !list_of(f, of).count;
	default: /* the first number of several */
		return !*(const uint64_t *)at(f, of);
	}
}

/* ---- reading ---- */

static int parse_fields(const struct walk *w, const struct shape *s, bool are_keys,
			const struct place *place, const json_t *map, void *ret);

static int parse_string(const struct walk *w UNUSED, const struct field *f,
			const struct place *place, const json_t *map, void *ret)
{
	char **text = at(f, ret);
	int r = place_take_string(place, map, f->key, text);

	return r == 0 && f->flags & SHAPE_NEEDED && !*text
		       ? place_refuse(place, f->key, "is missing")
		       : r;
}

static int parse_text(const struct walk *w UNUSED, const struct field *f, const struct place *place,
		      const json_t *map, void *ret)
{
	const json_t *json;
	int r = place_get(place, map, f->key, JSON_STRING, &json);
	const char *text = r == 0 ? json_string_value(json) : NULL;

	if (r < 0)
		return r;
	if (f->flags & SHAPE_NEEDED && (!text || !*text))
		return place_refuse(place, f->key, "is missing");
	if (text && strlen(text) >= f->size)
		return place_refuse(place, f->key, "has more than %zu bytes", f->size - 1);
	if (text)
		memcpy(at(f, ret), text, strlen(text) + 1);
	return 0;
}

static int parse_lent(const struct walk *w UNUSED, const struct field *f, const struct place *place,
		      const json_t *map, void *ret)
{
	const json_t *json;
	int r = place_get(place, map, f->key, JSON_STRING, &json);
	const char *text = r == 0 && json ? json_string_value(json) : "";

	if (r < 0)
		return r;
	if (f->flags & SHAPE_NEEDED && !*text)
		return place_refuse(place, f->key, "is missing");
	if (strlen(text) > f->size)
		return place_refuse(place, f->key, "is longer than %zu bytes", f->size);
	for (size_t i = 0; f->names && !text_is_equal(f->names[i], text);) {
		if (++i == f->most)
			return place_refuse(place, f->key, "is '%.40s', which is not known here",
					    text);
	}
	*(const char **)at(f, ret) = text;
	return 0;
}

static int parse_strings(const struct walk *w UNUSED, const struct field *f,
			 const struct place *place, const json_t *map, void *ret)
{
	const json_t *list;
	char **texts = at(f, ret);
	int r = place_get(place, map, f->key, JSON_ARRAY, &list);

	for (size_t i = 0; r == 0 && list && i < MIN(f->size, json_array_size(list)); i++)
		r = place_copy_string(place, f->key, json_array_get(list, i), &texts[i]);
	return r;
}

static int parse_lines(const struct walk *w UNUSED, const struct field *f,
		       const struct place *place, const json_t *map, void *ret)
{
	const json_t *list = NULL;
	int r = place_get(place, map, f->key, JSON_ARRAY, &list);

	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (!text)
			return place_refuse(place, f->key, "holds what is no text");
		r = strings_add(at(f, ret), "%s", text);
	}
	return r == -ENOSPC ? 0 : r;
}

static int parse_uint(const struct place *place, const char *key, const json_t *json, uint64_t most,
		      uint64_t *ret)
{
	if (!json_is_integer(json))
		return place_refuse(place, key,
				    "has something else where a whole number should be");
	if (json_integer_value(json) < 0 || (uint64_t)json_integer_value(json) > most)
		return place_refuse(place, key, "is out of range");
	*ret = (uint64_t)json_integer_value(json);
	return 0;
}

static int parse_word(const struct field *f, const struct place *place, const char *key,
		      const json_t *json, void *ret)
{
	const char *word = json_string_value(json);

	for (uint64_t i = 0; word && i < f->most; i++) {
		if (text_is_equal(f->names[i], word)) {
			set_uint(f, ret, i);
			return 0;
		}
	}
	return place_refuse(place, key, "is none of its words");
}

/* @key: "" in a list. */
static int parse_item(const struct field *f, const struct place *place, const char *key,
		      const json_t *json, void *ret)
{
	uint64_t number = 0;
	int r = 0;

	if (f->kind == SHAPE_WORD)
		return parse_word(f, place, key, json, ret);
	if (f->kind == SHAPE_UINT)
		r = parse_uint(place, key, json, f->most ? f->most : INT64_MAX, &number);
	else if (!json_is_string(json) || parse_u64(json_string_value(json), &number) < 0 ||
		 (!number && !(f->flags & SHAPE_ALWAYS)))
		return place_refuse(place, key, "is no number as a string");
	if (r == 0 && f->kind == SHAPE_ID)
		*(uint64_t *)at(f, ret) = number;
	else if (r == 0)
		set_uint(f, ret, number);
	return r;
}

static int parse_member(const struct walk *w UNUSED, const struct field *f,
			const struct place *place, const json_t *map, void *ret)
{
	const json_t *json = place_member(map, f->key);

	if (!json &&
	    (f->flags & SHAPE_NEEDED || (f->kind == SHAPE_WORD && !(f->flags & SHAPE_OMIT))))
		return place_refuse(place, f->key, "is missing");
	return json ? parse_item(f, place, f->key, json, ret) : 0;
}

static int parse_uints(const struct field *f, const struct place *place, const json_t *list,
		       size_t first, void *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->size; i++)
		r = parse_uint(place, "", json_array_get(list, first + i), INT64_MAX,
			       (uint64_t *)at(f, ret) + i);
	return r;
}

static int parse_list_of_uints(const struct walk *w UNUSED, const struct field *f,
			       const struct place *place, const json_t *map, void *ret)
{
	const struct place here = place_below(place, f->key);
	const json_t *list;
	int r = place_get(place, map, f->key, JSON_ARRAY, &list);

	if (r < 0 || !list)
		return r;
	return json_array_size(list) == f->size
		       ? parse_uints(f, &here, list, 0, ret)
		       : place_refuse(place, f->key, "should be a list of %zu", f->size);
}

static int parse_time(const struct walk *w UNUSED, const struct field *f, const struct place *place,
		      const json_t *map, void *ret)
{
	return place_take_time(place, map, f->key, at(f, ret));
}

static int parse_bool(const struct walk *w UNUSED, const struct field *f, const struct place *place,
		      const json_t *map, void *ret)
{
	return place_take_boolean(place, map, f->key, at(f, ret));
}

static int parse_signed(const struct walk *w UNUSED, const struct field *f,
			const struct place *place, const json_t *map, void *ret)
{
	const bool is_int = f->size == sizeof(int);
	int64_t number = is_int ? *(int *)at(f, ret) : *(int64_t *)at(f, ret);
	int r = place_take_signed(place, map, f->key, 0, (int64_t)f->most, &number);

	if (is_int)
		*(int *)at(f, ret) = (int)number;
	else
		*(int64_t *)at(f, ret) = number;
	return r;
}

static int take_number(const struct walk *w, const struct field *f, const struct place *place,
		       const json_t *map, const char *key, enum metric_unit unit, size_t cell,
		       void *ret)
{
	const enum metric_id id = f->first + (enum metric_id)cell;
	struct value value = {};
	int r = value_take(place, map, key, metric_unit_places(unit), &value);

	set(f, ret, cell, value.number, value.is_known);
	if (r == 0 && !value.is_known && !(id && may_lack(w, id)) && f->flags & SHAPE_NEEDED &&
	    is_sum(f, metrics_of(f), cell))
		return place_refuse(place, key, "is missing");
	if (r == 0 && f->most && value.number > f->most)
		return place_refuse(place, key, "is too much");
	return r;
}

static int parse_number(const struct walk *w, const struct field *f, const struct place *place,
			const json_t *map, void *ret)
{
	return take_number(w, f, place, map, f->key, unit_of(f), 0, ret);
}

/* The map of that field; NULL: it is to be skipped. */
static int get_map(const struct field *f, const struct place *place, const json_t **map)
{
	int r = place_get(place, *map, f->key, JSON_OBJECT, map);

	return r == 0 && !*map && f->flags & SHAPE_NEEDED && f->kind == SHAPE_MAP
		       ? place_refuse(place, f->key, "is missing")
		       : r;
}

static int parse_numbers(const struct walk *w, const struct field *f, const struct place *place,
			 const json_t *map, void *ret)
{
	const struct place below = place_below(place, f->key), *here = f->key ? &below : place;
	int r = f->key ? get_map(f, place, &map) : 0;

	if (f->key && !map && !(f->flags & SHAPE_AS_EMPTY))
		return r;
	for (size_t i = 0; r == 0 && i < f->end - f->first; i++) {
		const struct metric *metric = metrics_of(f) + i;
		bool is_there = true;

		r = metric->kind == KIND_HISTOGRAM
			    ? histogram_take(here, map, metric,
					     (void *)((uint64_t *)at(f, ret) + i), &is_there)
			    : take_number(w, f, here, map, metric->key, metric->unit, i, ret);
		if (!is_there)
			(void)may_lack(w, f->first + (enum metric_id)i);
	}
	return r;
}

static int parse_job_values(const struct walk *w UNUSED, const struct field *f,
			    const struct place *place, const json_t *map, void *ret)
{
	return values_take_all(place, map, at(f, ret));
}

static int parse_metrics(const struct walk *w UNUSED, const struct field *f,
			 const struct place *place, const json_t *map, void *ret)
{
	const struct place here = place_below(place, f->key);
	struct value *values = at(f, ret);
	const char *name;
	json_t *json;
	int r = place_get(place, map, f->key, JSON_OBJECT, &map);

	if (r == 0 && !map && !(f->flags & SHAPE_OMIT))
		return place_refuse(place, f->key, "is missing");
	if (r < 0 || !map)
		return r;
	json_object_foreach((json_t *)map, name, json)
	{
		const enum metric_id id = metric_of_path(name);
		uint64_t number = 0;

		if (id == METRIC_JOB_COUNT)
			return place_refuse(&here, "", "has something else: '%.40s'", name);
		r = parse_uint(&here, name, json, VALUE_MAX, &number);
		if (r < 0)
			return r;
		values[id] = (struct value){ number, true };
	}
	return 0;
}

static int parse_map(const struct walk *w, const struct field *f, const struct place *place,
		     const json_t *map, void *ret)
{
	const struct place below = place_below(place, f->key), *here = f->key ? &below : place;
	int r = f->key ? get_map(f, place, &map) : 0;

	if (r < 0 || (f->key && !map && !(f->flags & SHAPE_AS_EMPTY)))
		return r;
	if (f->rows->blank)
		memcpy(at(f, ret), f->rows->blank, f->rows->size);
	return parse_fields(w, f->rows, false, here, map, at(f, ret));
}

static int parse_named(const struct walk *w, const struct field *f, const struct place *place,
		       const json_t *map, void *ret)
{
	const struct place above = place_below(place, f->key);
	int r = f->key ? place_get(place, map, f->key, JSON_OBJECT, &map) : 0;

	for (size_t i = 0; r == 0 && i < f->size; i++) {
		const struct place here = place_below(&above, f->names[i]);
		const json_t *row;

		r = place_get(&above, map, f->names[i], JSON_OBJECT, &row);
		if (r == 0 && row)
			r = parse_fields(w, f->rows, false, &here, row,
					 (char *)at(f, ret) + i * f->rows->size);
	}
	return r;
}

struct parsed_list {
	const struct walk *walk;
	const struct field *field;
	struct list *list;
};

/* Keys come first: that there is such a row says more than what it lacks. */
static int parse_row(const struct place *place, const json_t *map, void *ret)
{
	const struct parsed_list *p = ret;
	const struct shape *rows = p->field->rows;
	void *row = p->field->kind == SHAPE_LIST ? append(rows, p->list, NULL)
						 : row_of(rows, p->list, p->list->count++);
	const struct field *key = rows->fields;
	int r;

	if (!row)
		return -ENOMEM;
	if (p->field->kind == SHAPE_ARRAY && rows->blank)
		memcpy(row, rows->blank, rows->size);
	r = parse_fields(p->walk, rows, true, place, map, row);
	while (key < rows->fields + rows->count && !(key->flags & SHAPE_KEY))
		key++;
	if (r == 0 && key < rows->fields + rows->count && find(rows, p->list, row) != row)
		return place_refuse(place, key->key, "stands there twice");
	return r < 0 ? r : parse_fields(p->walk, rows, false, place, map, row);
}

static int parse_list(const struct walk *w, const struct field *f, const struct place *place,
		      const json_t *json, void *ret)
{
	const struct place below = place_below(place, f->key), *here = f->key ? &below : place;
	const struct shape *rows = f->rows;
	struct list l = list_of(f, ret);
	struct parsed_list p = { w, f, &l };
	int r = f->key ? place_get(place, json, f->key, JSON_ARRAY, &json) : 0;

	if (r == 0 && !json && f->flags & SHAPE_NEEDED)
		return place_refuse(place, f->key, "is missing");
	if (r == 0 && json)
		r = place_each(here, json, rows->max + rows->has_other, parse_row, &p);
	if (r == 0 && l.count > rows->max && !find_other(rows, &l))
		r = place_refuse(here, "", "has more than %zu entries", rows->max);
	sort(rows, &l);
	if (f->kind == SHAPE_LIST)
		*(struct list *)at(f, ret) = l;
	else
		*count_of(f, ret) = l.count; /* on failure, too: what they own is there */
	return r;
}

static size_t count_items(const struct shape *rows)
{
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++)
		count += rows->fields[i].kind == SHAPE_UINTS ? rows->fields[i].size : 1;
	return count;
}

/* The items of @list from @first on. */
static int parse_tuple(const struct shape *rows, const struct place *place, const json_t *list,
		       size_t first, void *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < rows->count; i++) {
		const struct field *f = &rows->fields[i];

		r = f->kind == SHAPE_UINTS
			    ? parse_uints(f, place, list, first, ret)
			    : parse_item(f, place, "", json_array_get(list, first), ret);
		first += f->kind == SHAPE_UINTS ? f->size : 1;
	}
	return r == 0 && rows->check ? rows->check(place, ret) : r;
}

static int parse_tuples(const struct walk *w UNUSED, const struct field *f,
			const struct place *place, const json_t *map, void *ret)
{
	const struct shape *rows = f->rows;
	const size_t items = MAX(count_items(rows), (size_t)1),
		     step = f->flags & SHAPE_FLAT ? items : 1;
	struct list *l = at(f, ret);
	const json_t *list;
	int r = place_get(place, map, f->key, JSON_ARRAY, &list);

	if (r == 0 && !list && f->flags & SHAPE_NEEDED)
		return place_refuse(place, f->key, "is missing");
	if (r == 0 && (json_array_size(list) % step || json_array_size(list) / step > rows->max))
		return place_refuse(place, f->key,
				    "should have at most %zu entries, all of them whole",
				    rows->max);
	for (size_t i = 0; r == 0 && i < json_array_size(list); i += step) {
		const struct place here = place_item(place, f->key, i);
		const json_t *one = f->flags & SHAPE_FLAT ? list : json_array_get(list, i);
		void *row = append(rows, l, NULL);

		if (!row)
			return -ENOMEM;
		r = one == list || (json_is_array(one) && json_array_size(one) == items)
			    ? parse_tuple(rows, &here, one, one == list ? i : 0, row)
			    : place_refuse(&here, "", "should be a list of %zu", items);
	}
	sort(rows, l);
	return r;
}

/* ---- of each kind ---- */

static const struct kind {
	void (*format)(const struct walk *w, const struct field *f, const void *of,
		       struct document *d);
	int (*parse)(const struct walk *w, const struct field *f, const struct place *place,
		     const json_t *map, void *ret);
} kinds[] = {
	[SHAPE_TEXT] = { format_text, parse_text },
	[SHAPE_STRING] = { format_text, parse_string },
	[SHAPE_STRINGS] = { format_strings, parse_strings },
	[SHAPE_LINES] = { format_lines, parse_lines },
	[SHAPE_LENT] = { format_text, parse_lent },
	[SHAPE_WORD] = { format_member, parse_member },
	[SHAPE_UINT] = { format_member, parse_member },
	[SHAPE_UINTS] = { format_member, parse_list_of_uints },
	[SHAPE_ID] = { format_member, parse_member },
	[SHAPE_TIME] = { format_time, parse_time },
	[SHAPE_BOOL] = { format_bool, parse_bool },
	[SHAPE_SIGNED] = { format_signed, parse_signed },
	[SHAPE_NUMBER] = { format_number, parse_number },
	[SHAPE_VALUE] = { format_number, parse_number },
	[SHAPE_NUMBERS] = { format_numbers, parse_numbers },
	[SHAPE_VALUES] = { format_numbers, parse_numbers },
	[SHAPE_JOB_VALUES] = { format_job_values, parse_job_values },
	[SHAPE_METRICS] = { format_metrics, parse_metrics },
	[SHAPE_MAP] = { format_map, parse_map },
	[SHAPE_NAMED] = { format_named, parse_named },
	[SHAPE_LIST] = { format_list, parse_list },
	[SHAPE_TUPLES] = { format_tuples, parse_tuples },
	[SHAPE_ARRAY] = { format_list, parse_list },
};

static void format_fields(const struct walk *above, const struct shape *s, const void *of,
			  struct document *d)
{
	const struct walk w = walk_below(above, s, of);

	for (size_t i = 0; i < s->count; i++) {
		const struct field *f = &s->fields[i];

		if (!(f->flags & SHAPE_OMIT) || !is_omitted(f, of))
			kinds[f->kind].format(&w, f, of, d);
	}
}

void shape_format(const struct shape *s, const void *of, struct document *d)
{
	format_fields(&(struct walk){ s, (void *)of, (void *)of }, s, of, d);
}

bool shape_has_key(const struct shape *s, const char *key)
{
	for (size_t i = 0; i < s->count; i++) {
		if (text_is_equal(s->fields[i].key, key))
			return true;
	}
	return false;
}

static int check_keys(const struct shape *s, const struct place *place, const json_t *map)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)map, key, value)
	{
		if (!shape_has_key(s, key) || json_is_null(value))
			return place_refuse(place, "", "has something else: '%.40s'", key);
	}
	return 0;
}

static int parse_fields(const struct walk *above, const struct shape *s, bool are_keys,
			const struct place *place, const json_t *map, void *ret)
{
	const struct walk w = walk_below(above, s, ret);
	int r = s->is_strict ? check_keys(s, place, map) : 0;

	for (size_t i = 0; r == 0 && i < s->count; i++) {
		const struct field *f = &s->fields[i];

		if ((f->flags & SHAPE_KEY) == (are_keys ? SHAPE_KEY : 0))
			r = kinds[f->kind].parse(&w, f, place, map, ret);
	}
	return r == 0 && !are_keys && s->check ? s->check(place, ret) : r;
}

int shape_parse(const struct shape *s, const struct place *place, const json_t *json, void *ret)
{
	if (s->blank)
		memcpy(ret, s->blank, s->size);
	return parse_fields(&(struct walk){ s, ret, ret }, s, false, place, json, ret);
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

void *shape_append(const struct shape *s, void *of, const void *row)
{
	const struct field *f = list_field(s);

	return append(f->rows, at(f, of), row);
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
