/* SPDX-License-Identifier: MIT */
#include "model/parts.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/document.h"
#include "model/sections.h"

/* Where it stands among the sections that cgroups add up to. */
static size_t index_of(const struct section *s)
{
	size_t index = 0;

	assert(s->counted);
	for (size_t i = 0; i < section_count && sections[i] != s; i++)
		index += sections[i]->counted != 0;
	assert(index < PARTS_MAX);
	return index;
}

static void drop(const struct section *s, const void *part)
{
	if (part && !section_idle(s, part))
		section_free(s, (void *)part);
}

const void *parts_get(const struct parts *p, const struct section *s)
{
	return p->items[index_of(s)];
}

int parts_put(struct parts *p, const struct section *s, void *value)
{
	const void **item = &p->items[index_of(s)], *shared = section_idle(s, value);
	void *own = shared ? NULL : malloc(s->size);

	if (own)
		memcpy(own, value, s->size);
	else
		section_clear(s, value);
	memset(value, 0, s->size);
	if (!own && !shared)
		return -ENOMEM;
	drop(s, *item);
	*item = own ? own : shared;
	return 0;
}

void parts_clear(struct parts *p)
{
	for (size_t i = 0; i < section_count; i++) {
		if (sections[i]->counted)
			drop(sections[i], parts_get(p, sections[i]));
	}
	*p = (struct parts){};
}

int parts_add_one(struct parts *to, const struct section *s, const void *part)
{
	const void *before = parts_get(to, s);
	void *sum;
	int r;

	if (s->is_on_demand && before && !section_is_known(s, before))
		return 0;
	sum = section_new(s, COUNTED_ALL);
	r = sum ? 0 : -ENOMEM;
	if (r == 0 && before && section_is_known(s, before))
		r = section_copy(s, sum, before);
	if (r == 0)
		r = section_add(s, sum, part);
	if (r == 0)
		r = parts_put(to, s, sum);
	section_free(s, sum);
	return r;
}

int parts_add(struct parts *to, const struct parts *more)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < section_count; i++) {
		const struct section *s = sections[i];
		const void *part = section_is_by_source(s) ? parts_get(more, s) : NULL;

		r = part ? parts_add_one(to, s, part) : 0;
	}
	return r;
}

void parts_move(struct parts *to, struct parts *from)
{
	for (size_t i = 0; i < section_count; i++) {
		const void *part = sections[i]->counted ? parts_get(from, sections[i]) : NULL;

		if (!part)
			continue;
		drop(sections[i], parts_get(to, sections[i]));
		to->items[index_of(sections[i])] = part;
	}
	*from = (struct parts){};
}

static bool is_same(const struct section *s, const void *a, const void *b)
{
	return a == b || (a && b && s->is_same && s->is_same(a, b));
}

bool parts_are_same(const struct parts *a, const struct parts *b)
{
	for (size_t i = 0; i < section_count; i++) {
		const struct section *s = sections[i];

		if (s->counted && (!section_is_by_source(s) || s == &gpu_section) &&
		    !is_same(s, parts_get(a, s), parts_get(b, s)))
			return false;
	}
	return true;
}

/* ---- as text ---- */

static bool is_written(const struct section *s, bool is_of_step)
{
	return s->counted && (s->is_of_steps || !is_of_step);
}

static void format_empty(const struct section *s, struct document *d)
{
	void *empty = section_new(s, COUNTED_ALL);

	document_key(d, section_key(s));
	if (empty)
		section_format(s, empty, d);
	else
		document_null(d); /* and who reads it takes none of it */
	section_free(s, empty);
}

static bool is_counted(const struct section *s, unsigned int counted)
{
	return !section_is_by_source(s) && (!s->is_on_demand || counted & s->counted);
}

void parts_format(const struct parts *p, bool is_of_step, unsigned int counted, struct document *d)
{
	for (size_t i = 0; i < section_count; i++) {
		const struct section *s = sections[i];
		const void *part = is_written(s, is_of_step) ? parts_get(p, s) : NULL;

		if (part && section_is_known(s, part)) {
			document_key(d, section_key(s));
			section_format(s, part, d);
		} else if (!part && is_written(s, is_of_step) && is_counted(s, counted)) {
			format_empty(s, d);
		}
	}
}

static int parse_one(const struct section *s, const struct place *place, const json_t *map,
		     struct parts *ret)
{
	void *value = calloc(1, s->size);
	int r = value ? section_take(s, place, map, value) : -ENOMEM;

	if (r == 0)
		r = parts_put(ret, s, value);
	section_free(s, value);
	return r;
}

int parts_parse(const struct place *place, const json_t *map, bool is_of_step, struct parts *ret)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < section_count; i++) {
		if (is_written(sections[i], is_of_step))
			r = parse_one(sections[i], place, map, ret);
	}
	return r;
}

/* ---- records ---- */

int parts_copy_to(const struct parts *p, struct record *to)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < section_count; i++) {
		const struct section *s = sections[i];
		const void *part = s->counted ? parts_get(p, s) : NULL;

		r = part ? section_copy(s, section_of(to, s), part) : 0;
	}
	return r;
}
