/* SPDX-License-Identifier: MIT */
#include "model/section.h"

#include <errno.h>
#include <string.h>

#include "model/json_place.h"
#include "model/record.h"

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
	memset(section, 0, s->size);
}

int section_copy(const struct section *s, void *to, const void *from)
{
	int r;

	section_clear(s, to);
	if (!section_is_known(s, from) && s->is_partial)
		return 0;
	if (!s->begin) {
		memcpy(to, from, s->size);
		return 0;
	}
	r = s->begin(to, COUNTED_ALL);
	if (r == 0)
		r = s->add(to, from);
	if (r < 0)
		section_clear(s, to);
	return r;
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

	return r < 0 || !json ? r : s->parse(&here, json, ret);
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
