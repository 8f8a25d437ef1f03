/* SPDX-License-Identifier: MIT */
#include "steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "document.h"
#include "json_place.h"
#include "macro.h"
#include "metric_json.h"
#include "network_json.h"

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

void steps_clear(struct steps *s)
{
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
	network_merge(&to->network, &from->network);
}

int steps_merge(struct steps *to, const struct steps *from)
{
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

/* ---- as text ---- */

void steps_format(const struct steps *s, struct document *d)
{
	document_begin_list(d);
	for (size_t i = 0; i < s->count; i++) {
		const struct step *step = &s->items[i];

		document_begin_map(d);
		document_key(d, "id");
		document_string(d, step->id);
		document_key(d, "start");
		document_time(d, step->start_ns);
		document_key(d, "end");
		document_time(d, step->end_ns);
		values_format_all(step->values, d);
		if (step->network.is_known) {
			document_key(d, "network");
			network_format(&step->network, d);
		}
		document_end_map(d);
	}
	document_end_list(d);
}

static int take_step(const struct place *place, const json_t *map, struct steps *ret)
{
	_cleanup_free_ char *id = NULL;
	struct step *step;
	int r;

	if (!json_is_object(map))
		return place_refuse(place, "", "is %s and should be a map", place_type_name(map));
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
	return r < 0 ? r : network_take(place, map, &step->network);
}

int steps_parse(const struct place *place, const json_t *list, struct steps *ret)
{
	int r = 0;

	if (json_array_size(list) > STEPS_MAX)
		return place_refuse(place, "", "has more than %d entries", STEPS_MAX);
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		struct place here = place_below(place, "[%zu]", i);

		r = take_step(&here, json_array_get(list, i), ret);
	}
	return r;
}
