/* SPDX-License-Identifier: MIT */
#include "model/sections/steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "model/json_place.h"
#include "basic/macro.h"
#include "model/metric_json.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"

struct step *steps_add(struct steps *s, const char *id)
{
	struct step *larger, step = { .id = s->count < STEPS_MAX ? strdup(id) : NULL };

	if (!step.id)
		return NULL;
	larger = reallocarray(s->items, s->count + 1, sizeof(*larger));
	if (!larger) {
		free(step.id);
		return NULL;
	}
	s->items = larger;
	s->items[s->count] = step;
	return &s->items[s->count++];
}

struct step *steps_find(const struct steps *s, const char *id)
{
	for (size_t i = 0; i < s->count; i++) {
		if (strcmp(s->items[i].id, id) == 0)
			return &s->items[i];
	}
	return NULL;
}

void steps_remove(struct steps *s, struct step *step)
{
	if (!step)
		return;
	free(step->id);
	memmove(step, step + 1, (size_t)(s->items + --s->count - step) * sizeof(*step));
}

void steps_clear(void *section)
{
	struct steps *s = section;

	for (size_t i = 0; i < s->count; i++)
		free(s->items[i].id);
	free(s->items);
	*s = (struct steps){};
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

static int steps_begin(void *ret UNUSED, unsigned int counted UNUSED)
{
	return 0; /* there are none */
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
			steps_remove(to, step);
		} else if (step) {
			r = subtract_step(step, earlier, notes);
		} else {
			snprintf(what, sizeof(what), "step %s", earlier->id);
			r = section_note_fallen(notes, what);
		}
	}
	return r;
}

/* ---- as text ---- */

static void steps_format(const void *section, struct document *d)
{
	const struct steps *s = section;

	document_begin_list(d);
	for (size_t i = 0; i < s->count; i++) {
		const struct step *step = &s->items[i];

		document_begin_map(d);
		document_put_string(d, "id", step->id);
		document_put_time(d, "start", step->start_ns);
		document_put_time(d, "end", step->end_ns);
		values_format_all(step->values, d);
		if (step->network.is_known) {
			document_key(d, "network");
			network_section.format(&step->network, d);
		}
		document_end_map(d);
	}
	document_end_list(d);
}

static int take_step(const struct place *place, const json_t *map, void *data)
{
	struct steps *ret = data;
	_cleanup_free_ char *id = NULL;
	struct step *step;
	int r;

	r = place_take_string(place, map, "id", &id);
	if (r < 0)
		return r;
	if (!id)
		return place_refuse(place, "id", "is missing");
	if (steps_find(ret, id))
		return place_refuse(place, "id", "stands there twice");
	step = steps_add(ret, id);
	if (!step)
		return -ENOMEM;
	r = place_take_time(place, map, "start", &step->start_ns);
	if (r == 0)
		r = place_take_time(place, map, "end", &step->end_ns);
	if (r == 0)
		r = values_take_all(place, map, step->values);
	return r < 0 ? r : section_take(&network_section, place, map, &step->network);
}

static int steps_parse(const struct place *place, const json_t *list, void *ret)
{
	return place_each(place, list, STEPS_MAX, take_step, ret);
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
	.begin = steps_begin,
	.clear = steps_clear,
	.add = steps_merge,
	.subtract = steps_subtract,
	.format = steps_format,
	.type = JSON_ARRAY,
	.parse = steps_parse,
};
