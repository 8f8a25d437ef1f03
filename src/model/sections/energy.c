/* SPDX-License-Identifier: MIT */
#include "model/sections/energy.h"

#include "basic/macro.h"
#include "model/parts.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/shape.h"

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

static uint64_t mean_of(const struct energy_entry *a, const struct energy_entry *b)
{
	const unsigned __int128 uj = (unsigned __int128)a->uj + b->uj;

	if (!a->uncertainty_permille || !b->uncertainty_permille)
		return 0;
	return uj ? (uint64_t)(((unsigned __int128)a->uj * a->uncertainty_permille +
				(unsigned __int128)b->uj * b->uncertainty_permille) /
			       uj)
		  : a->uncertainty_permille;
}

static void join(void *to, const void *from)
{
	struct energy_entry *entry = to;

	entry->uncertainty_permille = mean_of(entry, from);
}

#define ENTRY(member) offsetof(struct energy_entry, member)

/* clang-format off */
static const struct field entry_fields[] = {
	{ "component", SHAPE_WORD, SHAPE_KEY, ENTRY(part), sizeof(enum energy_part),
	  .most = ENERGY_PART_COUNT, .names = energy_part_names },
	{ "source", SHAPE_TEXT, SHAPE_KEY, ENTRY(source), ENERGY_SOURCE_SIZE },
	{ "level", SHAPE_WORD, SHAPE_KEY, ENTRY(level), sizeof(enum energy_level),
	  .most = ENERGY_LEVEL_COUNT, .names = energy_level_names },
	{ "quality", SHAPE_WORD, SHAPE_KEY, ENTRY(quality), sizeof(enum energy_quality),
	  .most = ENERGY_QUALITY_COUNT, .names = energy_quality_names },
	{ "idle_policy", SHAPE_TEXT, SHAPE_KEY, ENTRY(idle_policy), ENERGY_POLICY_SIZE },
	{ "uncertainty", SHAPE_NUMBER, SHAPE_OR_NULL | SHAPE_ALONE, ENTRY(uncertainty_permille),
	  .unit = UNIT_CORES /* thousandths, too */, .most = 1000000 },
	{ "joules", SHAPE_NUMBER, 0, ENTRY(uj), .unit = UNIT_JOULES, .most = VALUE_MAX / ENERGY_ENTRIES_MAX },
};
static const struct shape entry_shape = { SHAPE_OF(struct energy_entry, entry_fields), .is_flat = true,
	.max = ENERGY_ENTRIES_MAX, .join = join };
static const struct field fields[] = {
	{ NULL, SHAPE_LIST, 0, offsetof(struct energy, items), .rows = &entry_shape },
};
/* clang-format on */
static const struct shape shape = { SHAPE_OF(struct energy, fields) };

int energy_add(struct energy *e, const struct energy_entry *entry)
{
	return shape_add_row(&shape, e, entry);
}

static int subtract(void *later, const void *earlier, struct strings *notes)
{
	const struct energy *from = earlier;
	struct energy *to = later;

	for (size_t i = 0; to->is_known && i < from->count; i++) {
		struct energy_entry *entry = shape_find(&shape, to, &from->items[i]);

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

const struct section energy_section = {
	.name = "energy.sensors",
	.size = sizeof(struct energy),
	.counted = COUNTED_BY_SOURCE,
	.shape = &shape,
	.subtract = subtract,
	.type = JSON_ARRAY,
};
