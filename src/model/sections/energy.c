/* SPDX-License-Identifier: MIT */
#include "model/sections/energy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "model/document.h"
#include "model/json_place.h"
#include "model/metric_json.h"
#include "model/parts.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"

#define UNCERTAINTY_PLACES 3

const struct energy *energy_of(const struct record *r)
{
	return section_get(r, &energy_section);
}

const struct energy *energy_of_parts(const struct parts *p)
{
	static const struct energy none;
	const struct energy *e = parts_get(p, &energy_section);

	return e ? e : &none;
}

/* ---- sums ---- */

static struct energy_entry *find(struct energy *e, const struct energy_entry *like)
{
	for (size_t i = 0; i < e->count; i++) {
		struct energy_entry *entry = &e->items[i];

		if (entry->part == like->part && entry->level == like->level &&
		    entry->quality == like->quality && strcmp(entry->source, like->source) == 0 &&
		    strcmp(entry->idle_policy, like->idle_policy) == 0)
			return entry;
	}
	return NULL;
}

static unsigned int mean_of(const struct energy_entry *a, const struct energy_entry *b)
{
	const unsigned __int128 uj = (unsigned __int128)a->uj + b->uj;

	if (!a->uncertainty_permille || !b->uncertainty_permille)
		return 0;
	return uj ? (unsigned int)(((unsigned __int128)a->uj * a->uncertainty_permille +
				    (unsigned __int128)b->uj * b->uncertainty_permille) /
				   uj)
		  : a->uncertainty_permille;
}

static int append(struct energy *e, const struct energy_entry *entry)
{
	struct energy_entry *items = realloc(e->items, (e->count + 1) * sizeof(*items));

	if (!items)
		return -ENOMEM;
	e->items = items;
	e->items[e->count++] = *entry;
	return 0;
}

int energy_add(struct energy *e, const struct energy_entry *entry)
{
	struct energy_entry *to = find(e, entry);

	if (!to && e->count < ENERGY_ENTRIES_MAX)
		return append(e, entry);
	to = to ? to : &e->items[e->count - 1];
	to->uncertainty_permille = mean_of(to, entry);
	to->uj += entry->uj;
	return 0;
}

static int add_all(void *sum, const void *part)
{
	const struct energy *from = part;
	struct energy *to = sum;
	int r = 0;

	to->is_known &= from->is_known;
	for (size_t i = 0; r == 0 && i < from->count; i++)
		r = energy_add(to, &from->items[i]);
	return r;
}

static int begin(void *ret, unsigned int counted UNUSED)
{
	*(struct energy *)ret = (struct energy){ .is_known = true };
	return 0;
}

static void clear(void *section)
{
	free(((struct energy *)section)->items);
}

static int raise_to(void *to, const void *least)
{
	const struct energy *from = least;
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->count; i++) {
		struct energy_entry *entry = find(to, &from->items[i]);

		if (entry)
			entry->uj = MAX(entry->uj, from->items[i].uj);
		else
			r = energy_add(to, &from->items[i]);
	}
	return r;
}

static int subtract(void *later, const void *earlier, struct strings *notes)
{
	const struct energy *from = earlier;
	struct energy *to = later;

	for (size_t i = 0; to->is_known && i < from->count; i++) {
		struct energy_entry *entry = find(to, &from->items[i]);

		if (!entry || entry->uj < from->items[i].uj) {
			section_clear(&energy_section, to);
			return section_note_fallen(notes, "energy");
		}
		entry->uj -= from->items[i].uj;
	}
	return 0;
}

uint64_t energy_total(const struct energy *e)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < e->count; i++)
		sum += e->items[i].uj;
	return sum;
}

enum energy_quality energy_quality(const struct energy *e)
{
	enum energy_quality worst = ENERGY_MEASURED;

	for (size_t i = 0; i < e->count; i++) {
		if (e->items[i].uj)
			worst = MAX(worst, e->items[i].quality);
	}
	return e->count && worst == ENERGY_MEASURED ? e->items[0].quality : worst;
}

enum energy_level energy_level(const struct energy *e)
{
	enum energy_level level = ENERGY_PART;

	for (size_t i = 0; i < e->count; i++)
		level = MIN(level, e->items[i].level);
	return level;
}

bool energy_has_components(const struct energy *e)
{
	for (size_t i = 0; i < e->count; i++) {
		if (e->items[i].level != ENERGY_NODE)
			return true;
	}
	return false;
}

bool energy_of_component(const struct energy *e, size_t i, uint64_t *ret_uj)
{
	*ret_uj = 0;
	for (size_t k = 0; k < e->count; k++) {
		if (e->items[k].part != e->items[i].part ||
		    e->items[k].quality != e->items[i].quality)
			continue;
		if (k < i)
			return false;
		*ret_uj += e->items[k].uj;
	}
	return true;
}

struct value energy_uncertainty(const struct energy *e)
{
	struct energy_entry sum = {};
	bool is_first = true;

	for (size_t i = 0; i < e->count; i++) {
		const struct energy_entry *entry = &e->items[i];

		if (!entry->uj)
			continue;
		sum.uncertainty_permille = is_first ? entry->uncertainty_permille
						    : mean_of(&sum, entry);
		sum.uj += entry->uj;
		is_first = false;
	}
	return (struct value){ sum.uncertainty_permille, sum.uncertainty_permille > 0 };
}

/* ---- as text ---- */

static void format(const void *section, struct document *d)
{
	const struct energy *e = section;

	document_begin_list(d);
	for (size_t i = 0; i < e->count; i++) {
		const struct energy_entry *entry = &e->items[i];

		document_begin_flat_map(d);
		document_put_string(d, "component", energy_part_name(entry->part));
		document_put_string(d, "source", entry->source);
		document_put_string(d, "level", energy_level_name(entry->level));
		document_put_string(d, "quality", energy_quality_name(entry->quality));
		document_put_string(d, "idle_policy", entry->idle_policy);
		document_key(d, "uncertainty");
		if (entry->uncertainty_permille)
			document_decimal(d, entry->uncertainty_permille, UNCERTAINTY_PLACES);
		else
			document_null(d);
		document_key(d, "joules");
		document_decimal(d, entry->uj, metric_unit_places(UNIT_JOULES));
		document_end_map(d);
	}
	document_end_list(d);
}

static int take_word(const struct place *place, const json_t *map, const char *key, char *ret,
		     size_t size)
{
	_cleanup_free_ char *text = NULL;
	int r = place_take_string(place, map, key, &text);

	if (r == 0 && text && strlen(text) >= size)
		return place_refuse(place, key, "has more than %zu bytes", size - 1);
	if (r == 0 && text)
		memcpy(ret, text, strlen(text) + 1);
	return r;
}

static int take_entry(const struct place *place, const json_t *map, void *ret)
{
	struct energy_entry entry = {};
	char level[ENERGY_SOURCE_SIZE] = "", quality[ENERGY_SOURCE_SIZE] = "",
	     part[ENERGY_SOURCE_SIZE] = "";
	uint64_t uncertainty = 0;
	bool is_known = false;
	int r = take_word(place, map, "source", entry.source, sizeof(entry.source));

	if (r == 0)
		r = take_word(place, map, "idle_policy", entry.idle_policy,
			      sizeof(entry.idle_policy));
	if (r == 0)
		r = take_word(place, map, "component", part, sizeof(part));
	if (r == 0)
		r = take_word(place, map, "level", level, sizeof(level));
	if (r == 0)
		r = take_word(place, map, "quality", quality, sizeof(quality));
	if (r == 0)
		r = place_take_number(place, map, "uncertainty", UNCERTAINTY_PLACES, &uncertainty,
				      &is_known);
	if (r == 0)
		r = place_take_number(place, map, "joules", metric_unit_places(UNIT_JOULES),
				      &entry.uj, &is_known);
	if (r < 0)
		return r;
	if (!energy_part_find(part, &entry.part))
		return place_refuse(place, "component", "is no part of a node");
	if (!energy_level_find(level, &entry.level))
		return place_refuse(place, "level", "is no level of a sensor");
	if (!energy_quality_find(quality, &entry.quality))
		return place_refuse(place, "quality", "is no quality of energy");
	if (entry.uj > VALUE_MAX / ENERGY_ENTRIES_MAX)
		return place_refuse(place, "joules", "is too much");
	entry.uncertainty_permille = (unsigned int)MIN(uncertainty, UINT64_C(1000000));
	return energy_add(ret, &entry);
}

static int parse(const struct place *place, const json_t *list, void *ret)
{
	((struct energy *)ret)->is_known = true;
	return place_each(place, list, ENERGY_ENTRIES_MAX, take_entry, ret);
}

const struct section energy_section = {
	.name = "energy.sensors",
	.size = sizeof(struct energy),
	.counted = COUNTED_BY_SOURCE,
	.begin = begin,
	.clear = clear,
	.add = add_all,
	.raise = raise_to,
	.subtract = subtract,
	.format = format,
	.type = JSON_ARRAY,
	.parse = parse,
};
