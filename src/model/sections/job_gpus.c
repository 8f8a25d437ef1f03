/* SPDX-License-Identifier: MIT */
#include "model/sections/job_gpus.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/macro.h"
#include "model/document.h"
#include "model/json_place.h"
#include "model/metric_json.h"
#include "model/parts.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"

#define OTHER "(other)"

const struct job_gpus *job_gpus_of(const struct record *r)
{
	return section_get(r, &gpu_section);
}

const struct job_gpus *job_gpus_of_parts(const struct parts *p)
{
	static const struct job_gpus none;
	const struct job_gpus *g = parts_get(p, &gpu_section);

	return g ? g : &none;
}

struct value *job_gpu_number(struct job_gpu *g, enum metric_id id)
{
	assert(id >= METRIC_GPU_FIRST && id < METRIC_GPU_END);
	return &g->numbers[id - METRIC_GPU_FIRST];
}

struct value job_gpu_get(const struct job_gpu *g, enum metric_id id)
{
	return *job_gpu_number((struct job_gpu *)g, id);
}

static void add_number(struct value *to, enum metric_id id, uint64_t number)
{
	to->number = metric_get(id)->kind == KIND_COUNTER
			     ? MIN((uint64_t)to->number + number, VALUE_MAX)
			     : MAX((uint64_t)to->number, number);
	to->is_known = true;
}

void job_gpu_add(struct job_gpu *g, enum metric_id id, uint64_t number)
{
	add_number(job_gpu_number(g, id), id, number);
}

struct value job_gpus_total(const struct job_gpus *g, enum metric_id id)
{
	struct value sum = {};

	for (size_t i = 0; i < g->count; i++) {
		const struct value v = job_gpu_get(&g->items[i], id);

		if (v.is_known)
			add_number(&sum, id, v.number);
	}
	return sum;
}

void job_gpu_card(const struct job_gpu *g, char ret[GPU_NAME_SIZE])
{
	snprintf(ret, GPU_NAME_SIZE, "%.*s", (int)strcspn(g->name, "/"), g->name);
}

const char *job_gpu_instance(const struct job_gpu *g)
{
	const char *slash = strchr(g->name, '/');

	return slash ? slash + 1 : "";
}

/* ---- rows ---- */

static struct job_gpu *find(const struct job_gpus *g, const char *uuid)
{
	for (size_t i = 0; i < g->count; i++) {
		if (strcmp(g->items[i].uuid, uuid) == 0)
			return &g->items[i];
	}
	return NULL;
}

struct job_gpu *job_gpus_get(struct job_gpus *g, const char *uuid, const char *name,
			     const char *model)
{
	struct job_gpu *row = find(g, uuid);

	if (!row && g->count >= JOB_GPUS_MAX + (find(g, OTHER) != NULL)) {
		uuid = name = OTHER;
		model = "";
		row = find(g, uuid);
	}
	if (row)
		return row;
	if (array_reserve(&g->items, &g->room, g->count, sizeof(*g->items)) < 0)
		return NULL;
	row = &g->items[g->count++];
	*row = (struct job_gpu){};
	snprintf(row->uuid, sizeof(row->uuid), "%s", uuid);
	snprintf(row->name, sizeof(row->name), "%s", name);
	snprintf(row->model, sizeof(row->model), "%s", model);
	return row;
}

void job_gpus_clear(void *section)
{
	struct job_gpus *g = section;

	free(g->items);
	*g = (struct job_gpus){};
}

/* ---- sums ---- */

static int begin(void *ret, unsigned int counted UNUSED)
{
	*(struct job_gpus *)ret = (struct job_gpus){ .is_known = true };
	return 0;
}

static int combine(struct job_gpus *to, const struct job_gpus *from,
		   void (*take)(struct value *to, enum metric_id id, uint64_t number))
{
	to->is_known |= from->is_known;
	for (size_t i = 0; i < from->count; i++) {
		const struct job_gpu *part = &from->items[i];
		struct job_gpu *row = job_gpus_get(to, part->uuid, part->name, part->model);

		if (!row)
			return -ENOMEM;
		for (size_t id = METRIC_GPU_FIRST; id < METRIC_GPU_END; id++) {
			const struct value v = job_gpu_get(part, (enum metric_id)id);

			if (v.is_known)
				take(job_gpu_number(row, (enum metric_id)id), (enum metric_id)id,
				     v.number);
		}
	}
	return 0;
}

static int add(void *sum, const void *part)
{
	return combine(sum, part, add_number);
}

static void raise_number(struct value *to, enum metric_id id UNUSED, uint64_t number)
{
	*to = (struct value){ MAX((uint64_t)to->number, number), true };
}

static int raise_to(void *to, const void *least)
{
	return combine(to, least, raise_number);
}

/* Peaks may be of the time before: those that did not rise are not known.  Cards of which no time
 * came go. */
static int subtract(void *later, const void *earlier, struct strings *notes)
{
	const struct job_gpus *before = earlier;
	struct job_gpus *to = later;
	size_t kept = 0;

	for (size_t i = 0; i < to->count; i++) {
		struct job_gpu *row = &to->items[i];
		const struct job_gpu *was = find(before, row->uuid);

		for (size_t n = 0; was && n < GPU_NUMBERS; n++) {
			const bool is_counter = METRIC_GPU_FIRST + n < METRIC_GPU_COUNTERS_END;
			struct value *v = &row->numbers[n];

			if (is_counter && was->numbers[n].number > v->number) {
				section_clear(&gpu_section, to);
				return section_note_fallen(notes, "gpu");
			}
			if (is_counter)
				v->number -= was->numbers[n].number;
			else if (METRIC_GPU_FIRST + n != METRIC_GPU_MEMORY_TOTAL)
				v->is_known &= v->number > was->numbers[n].number;
		}
		if (!was || job_gpu_get(row, METRIC_GPU_HELD).number)
			to->items[kept++] = *row;
	}
	to->count = kept;
	return 0;
}

/* ---- as text ---- */

static void format(const void *section, struct document *d)
{
	const struct job_gpus *g = section;

	document_begin_list(d);
	for (size_t i = 0; i < g->count; i++) {
		const struct job_gpu *row = &g->items[i];

		document_begin_map(d);
		document_put_string(d, "gpu", row->name);
		document_put_string(d, "uuid", row->uuid);
		document_put_string(d, "model", row->model);
		for (size_t id = METRIC_GPU_FIRST; id < METRIC_GPU_END; id++) {
			const struct value v = job_gpu_get(row, (enum metric_id)id);

			metric_format(metric_get((enum metric_id)id), v.is_known, v.number, d);
		}
		document_end_map(d);
	}
	document_end_list(d);
}

static int take_gpu(const struct place *place, const json_t *map, void *section)
{
	_cleanup_free_ char *uuid = NULL, *name = NULL, *model = NULL;
	struct job_gpus *ret = section;
	struct job_gpu *row;
	int r = place_take_string(place, map, "uuid", &uuid);

	if (r == 0)
		r = place_take_string(place, map, "gpu", &name);
	if (r == 0)
		r = place_take_string(place, map, "model", &model);
	if (r < 0)
		return r;
	if (!uuid || !*uuid || strlen(uuid) >= GPU_UUID_SIZE || find(ret, uuid))
		return place_refuse(place, "uuid", "is missing, too long, or there twice");
	row = job_gpus_get(ret, uuid, name ? name : "", model ? model : "");
	if (!row)
		return -ENOMEM;
	for (size_t id = METRIC_GPU_FIRST; r == 0 && id < METRIC_GPU_END; id++)
		r = metric_take(place, map, metric_get((enum metric_id)id),
				job_gpu_number(row, (enum metric_id)id));
	return r;
}

static int parse(const struct place *place, const json_t *list, void *section)
{
	((struct job_gpus *)section)->is_known = true;
	return place_each(place, list, JOB_GPUS_MAX + 1, take_gpu, section);
}

/* ---- as a table ---- */

static const char *thing(const void *section, size_t i)
{
	const struct job_gpus *g = section;

	return i < g->count ? g->items[i].uuid : NULL;
}

static bool number(const void *section, const char *uuid, enum metric_id id, uint64_t *ret)
{
	const struct job_gpu *row = uuid ? find(section, uuid) : NULL;
	const struct value v = row ? job_gpu_get(row, id) : (struct value){};

	*ret = v.number;
	return v.is_known;
}

static const struct section_table table = {
	.label = "gpu",
	.first = METRIC_GPU_FIRST,
	.end = METRIC_GPU_END,
	.thing = thing,
	.number = number,
};

static const void *idle(const void *section)
{
	static const struct job_gpus idle_ones[2] = { [1] = { .is_known = true } };
	const struct job_gpus *g = section;

	return g->count ? NULL : &idle_ones[g->is_known];
}

const struct section gpu_section = {
	.name = "gpu",
	.size = sizeof(struct job_gpus),
	.counted = COUNTED_BY_SOURCE,
	.is_partial = true,
	.begin = begin,
	.clear = job_gpus_clear,
	.idle = idle,
	.add = add,
	.raise = raise_to,
	.subtract = subtract,
	.format = format,
	.type = JSON_ARRAY,
	.parse = parse,
	.table = &table,
};
