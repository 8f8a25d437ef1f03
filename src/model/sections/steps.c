/* SPDX-License-Identifier: MIT */
#include "model/sections/steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/shape.h"

/* clang-format off */
static const struct field step_fields[] = {
	{ "id", SHAPE_STRING, SHAPE_KEY | SHAPE_NEEDED, offsetof(struct step, id) },
	{ "start", SHAPE_TIME, 0, offsetof(struct step, start_ns) },
	{ "end", SHAPE_TIME, 0, offsetof(struct step, end_ns) },
	{ NULL, SHAPE_JOB_VALUES, 0, offsetof(struct step, values) },
	{ "network", SHAPE_MAP, SHAPE_IF_KNOWN, offsetof(struct step, network), .rows = &network_shape },
};
static const struct shape step_shape = { SHAPE_OF(struct step, step_fields), .max = STEPS_MAX };
static const struct field fields[] = {
	{ NULL, SHAPE_LIST, 0, offsetof(struct steps, items), .rows = &step_shape },
};
/* clang-format on */
static const struct shape shape = { SHAPE_OF(struct steps, fields) };

struct step *steps_add(struct steps *s, const char *id)
{
	struct step step = { .id = s->count < STEPS_MAX ? strdup(id) : NULL }, *added;

	added = step.id ? shape_append(&shape, s, &step) : NULL;
	if (!added)
		free(step.id);
	return added;
}

struct step *steps_find(const struct steps *s, const char *id)
{
	return shape_find(&shape, s, &(const struct step){ .id = (char *)id });
}

static void remove_step(struct steps *s, struct step *step)
{
	if (!step)
		return;
	free(step->id);
	memmove(step, step + 1, (size_t)(s->items + --s->count - step) * sizeof(*step));
}

void steps_clear(void *section)
{
	shape_clear(&shape, section);
}

bool step_has_ranks(const char *id)
{
	return *id >= '0' && *id <= '9';
}

bool rank_work(const struct value values[METRIC_JOB_COUNT], bool is_spun_known, uint64_t *ret_ns)
{
	const struct value *user = &values[METRIC_CPU_USER], *system = &values[METRIC_CPU_SYSTEM],
			   *spun = &values[METRIC_CPU_POLLING];
	uint64_t cpu_ns = user->number + system->number;

	if (!user->is_known || !system->is_known)
		return false;
	*ret_ns = cpu_ns - (is_spun_known && spun->is_known ? MIN(spun->number, cpu_ns) : 0);
	return true;
}

static void merge_step(struct step *to, const struct step *from)
{
	if (from->start_ns && (!to->start_ns || from->start_ns < to->start_ns))
		to->start_ns = from->start_ns;
	/* one that still runs somewhere has not ended */
	to->end_ns = to->end_ns && from->end_ns ? MAX(to->end_ns, from->end_ns) : 0;
	values_merge(to->values, from->values);
	(void)network_section.add(&to->network, &from->network);
}

static int steps_merge(void *sum, const void *part)
{
	const struct steps *from = part;
	struct steps *to = sum;

	for (size_t i = 0; i < from->count; i++) {
		struct step *step = steps_find(to, from->items[i].id);
		char *id;

		if (step) {
			merge_step(step, &from->items[i]);
			continue;
		}
		step = steps_add(to, from->items[i].id);
		if (!step)
			return to->count >= STEPS_MAX ? 0 : -ENOMEM;
		id = step->id;
		*step = from->items[i];
		step->id = id;
	}
	return 0;
}

/* ---- what came later ---- */

#define STEP_WORDS_SIZE 128

static int subtract_value(struct step *step, enum metric_id id, const struct value *from,
			  struct strings *notes)
{
	const struct metric *metric = metric_get(id);
	struct value *value = &step->values[id], later = *value;
	bool is_comparable = later.is_known && from->is_known;
	char what[STEP_WORDS_SIZE];

	if (metric->kind == KIND_PEAK && is_comparable && later.number <= from->number)
		*value = (struct value){}; /* reached before: nobody knows how high it was meanwhile
					    */
	if (metric->kind != KIND_COUNTER)
		return 0;
	*value = (struct value){};
	if (is_comparable && later.number < from->number) {
		snprintf(what, sizeof(what), "step %s's %s", step->id, metric->name);
		return section_note_fallen(notes, what);
	}
	if (is_comparable)
		*value = (struct value){ later.number - from->number, true };
	return 0;
}

static int subtract_step(struct step *step, const struct step *from, struct strings *notes)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < METRIC_JOB_COUNT; i++)
		r = subtract_value(step, (enum metric_id)i, &from->values[i], notes);
	return r < 0 ? r : network_section.subtract(&step->network, &from->network, notes);
}

static int steps_subtract(void *later, const void *before, struct strings *notes)
{
	const struct steps *from = before;
	struct steps *to = later;
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->count; i++) {
		const struct step *earlier = &from->items[i];
		struct step *step = steps_find(to, earlier->id);
		char what[STEP_WORDS_SIZE];

		if (earlier->end_ns) {
			remove_step(to, step);
		} else if (step) {
			r = subtract_step(step, earlier, notes);
		} else {
			snprintf(what, sizeof(what), "step %s", earlier->id);
			r = section_note_fallen(notes, what);
		}
	}
	return r;
}

static bool has_steps(const void *section)
{
	return ((const struct steps *)section)->count > 0;
}

const struct section steps_section = {
	.name = "steps",
	.size = sizeof(struct steps),
	.offset = offsetof(struct record, steps),
	.is_known = has_steps,
	.shape = &shape,
	.add = steps_merge,
	.subtract = steps_subtract,
	.type = JSON_ARRAY,
};
