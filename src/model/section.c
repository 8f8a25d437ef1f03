/* SPDX-License-Identifier: MIT */
#include "model/section.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/document.h"
#include "model/json_place.h"
#include "model/record.h"
#include "model/shape.h"

const struct section *section_find(const char *name)
{
	for (size_t i = 0; i < section_count; i++) {
		if (strcmp(sections[i]->name, name) == 0)
			return sections[i];
	}
	return NULL;
}

bool section_is_known(const struct section *s, const void *section)
{
	return s->is_known ? s->is_known(section) : *(const bool *)section;
}

void section_clear(const struct section *s, void *section)
{
	if (s->clear)
		s->clear(section);
	else if (s->shape)
		shape_clear(s->shape, section);
	memset(section, 0, s->size);
}

void *section_new(const struct section *s, unsigned int counted)
{
	void *section = calloc(1, s->size);

	if (section && section_begin(s, section, counted) == 0)
		return section;
	free(section);
	return NULL;
}

void section_free(const struct section *s, void *section)
{
	if (section)
		section_clear(s, section);
	free(section);
}

int section_copy(const struct section *s, void *to, const void *from)
{
	int r;

	section_clear(s, to);
	if (!section_is_known(s, from) && s->is_partial)
		return 0;
	if (!s->begin && !s->shape) {
		memcpy(to, from, s->size);
		return 0;
	}
	r = section_begin(s, to, COUNTED_ALL);
	if (r == 0)
		r = section_add(s, to, from);
	if (r < 0)
		section_clear(s, to);
	return r;
}

int section_begin(const struct section *s, void *ret, unsigned int counted)
{
	if (s->begin)
		return s->begin(ret, counted);
	memset(ret, 0, s->size);
	if (!s->is_known)
		*(bool *)ret = section_is_by_source(s) || counted & s->counted;
	return 0;
}

const void *section_idle(const struct section *s, const void *section)
{
	static const struct {
		_Alignas(max_align_t) bool is_known;
		char rest[64];
	} idle[2] = { [1] = { .is_known = true } };

	if (s->idle || !s->shape)
		return s->idle ? s->idle(section) : NULL;
	assert(s->size <= sizeof(idle[0]));
	return shape_is_empty(s->shape, section) ? &idle[section_is_known(s, section)] : NULL;
}

int section_add(const struct section *s, void *sum, const void *part)
{
	bool *is_known = sum;

	if (s->add)
		return s->add(sum, part);
	*is_known = s->is_partial ? *is_known || section_is_known(s, part)
				  : *is_known && section_is_known(s, part);
	if (*is_known)
		return shape_join(s->shape, false, sum, part);
	section_clear(s, sum);
	return 0;
}

int section_raise(const struct section *s, void *to, const void *least)
{
	return s->raise ? s->raise(to, least) : shape_join(s->shape, true, to, least);
}

int section_subtract(const struct section *s, void *later, const void *earlier,
		     struct strings *notes)
{
	const bool was_known = section_is_known(s, earlier);

	if (s->subtract)
		return s->subtract(later, earlier, notes);
	if (!s->shape) { /* it is of the whole life */
		if (was_known)
			section_clear(s, later);
		return 0;
	}
	/* what no source had added to until then came later */
	if (!section_is_known(s, later) || (!was_known && section_is_by_source(s)))
		return 0;
	if (was_known && shape_subtract(s->shape, later, earlier))
		return 0;
	section_clear(s, later);
	return was_known ? section_note_fallen(notes, section_key(s)) : 0;
}

void section_format(const struct section *s, const void *section, struct document *d)
{
	if (s->format) {
		s->format(section, d);
		return;
	}
	if (s->type == JSON_OBJECT)
		document_begin_map(d);
	shape_format(s->shape, section, d);
	if (s->type == JSON_OBJECT)
		document_end_map(d);
}

/* ---- as a table ---- */

const void *section_thing(const struct section *s, const void *section, size_t i)
{
	return s->table->thing ? s->table->thing(section, i) : shape_at(s->shape, section, i);
}

const char *section_thing_name(const struct section *s, const void *thing,
			       char ret[SECTION_THING_SIZE])
{
	return s->table->thing ? thing : shape_name(s->shape, thing, ret);
}

struct value section_number(const struct section *s, const void *section, const void *thing,
			    enum metric_id id)
{
	uint64_t number = 0;
	bool is_known = section_is_known(s, section);

	if (s->table->number) {
		is_known = s->table->number(section, thing, id, &number);
		return (struct value){ number, is_known };
	}
	if (!is_known)
		return (struct value){};
	return thing ? shape_number(s->shape, thing, id) : shape_total(s->shape, section, id);
}

const char *section_key(const struct section *s)
{
	const char *dot = strrchr(s->name, '.');

	return dot ? dot + 1 : s->name;
}

int section_take(const struct section *s, const struct place *place, const json_t *map, void *ret)
{
	const char *key = section_key(s);
	struct place here = place_below(place, key);
	const json_t *json;
	int r = place_get(place, map, key, s->type, &json);

	if (r < 0 || !json)
		return r;
	if (s->parse)
		return s->parse(&here, json, ret);
	if (!s->is_known)
		*(bool *)ret = true;
	r = shape_parse(s->shape, &here, json, ret);
	if (r < 0) /* nothing of what is odd is taken */
		section_clear(s, ret);
	return r;
}

int section_note_fallen(struct strings *notes, const char *what)
{
	int r = strings_add(
		notes, "%s fell meanwhile, and so what it was in this time is not known", what);

	return r == -ENOSPC ? 0 : r;
}

/* ---- of records ---- */

static size_t aligned(size_t size)
{
	return (size + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
}

/* Where it stands; NULL: where all of them end. */
static size_t offset_of(const struct section *s)
{
	size_t offset = aligned(sizeof(struct record));

	if (s && s->offset)
		return s->offset;
	for (size_t i = 0; i < section_count && sections[i] != s; i++)
		offset += sections[i]->offset ? 0 : aligned(sections[i]->size);
	return offset;
}

size_t section_record_size(void)
{
	return offset_of(NULL);
}

void *section_of(struct record *r, const struct section *s)
{
	return (char *)r + offset_of(s);
}

const void *section_get(const struct record *r, const struct section *s)
{
	return (const char *)r + offset_of(s);
}
