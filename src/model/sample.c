/* SPDX-License-Identifier: MIT */
#include "model/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/text.h"

static void clear_one(struct sample *one)
{
	for (size_t i = 0; i < SAMPLE_LABELS_MAX; i++)
		free(one->labels[i]);
	*one = (struct sample){};
}

static int make_room(struct samples *s)
{
	return s->count >= SAMPLES_MAX
		       ? -ENOSPC
		       : array_reserve(&s->items, &s->room, s->count, sizeof(*s->items));
}

int samples_add(struct samples *s, enum metric_id id, const char *const values[SAMPLE_LABELS_MAX],
		uint64_t number)
{
	struct sample one = { .id = id, .number = number };
	int r = make_room(s);

	if (r < 0)
		return r;
	for (size_t i = 0; i < SAMPLE_LABELS_MAX; i++) {
		one.labels[i] = values[i] ? strdup(values[i]) : NULL;
		if (values[i] && !one.labels[i]) {
			clear_one(&one);
			return -ENOMEM;
		}
	}
	s->items[s->count++] = one;
	return 0;
}

int samples_add_all(struct samples *s, const struct samples *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->count; i++)
		r = samples_add(s, from->items[i].id, (const char *const *)from->items[i].labels,
				from->items[i].number);
	return r;
}

int samples_add_plain(struct samples *s, enum metric_id id, uint64_t number)
{
	static const char *const none[SAMPLE_LABELS_MAX];

	return samples_add(s, id, none, number);
}

int samples_add_energy(struct samples *s, const struct energy_reading *one)
{
	return energy_readings_add(&s->energy, one);
}

const struct sample *samples_find(const struct samples *s, enum metric_id id, const char *label)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->items[i].id == id && (!label || text_is_equal(s->items[i].labels[0], label)))
			return &s->items[i];
	}
	return NULL;
}

void samples_clear(struct samples *s)
{
	for (size_t i = 0; i < s->count; i++)
		clear_one(&s->items[i]);
	free(s->items);
	energy_readings_clear(&s->energy);
	*s = (struct samples){};
}
