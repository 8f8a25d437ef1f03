/* SPDX-License-Identifier: MIT */
#include "model/sections/job_gpus.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"
#include "model/parts.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/shape.h"

/* clang-format off */
static const struct field gpu_fields[] = {
	{ "gpu", SHAPE_TEXT, 0, offsetof(struct job_gpu, name), GPU_NAME_SIZE },
	{ "uuid", SHAPE_TEXT, SHAPE_KEY | SHAPE_NEEDED, offsetof(struct job_gpu, uuid), GPU_UUID_SIZE },
	{ "model", SHAPE_TEXT, 0, offsetof(struct job_gpu, model), GPU_MODEL_SIZE },
	{ NULL, SHAPE_VALUES, SHAPE_PARTIAL, offsetof(struct job_gpu, numbers),
	  .first = METRIC_GPU_FIRST, .end = METRIC_GPU_END },
};
static const struct shape gpu = { SHAPE_OF(struct job_gpu, gpu_fields),
	.max = JOB_GPUS_MAX, .has_other = true };
static const struct field fields[] = {
	{ NULL, SHAPE_LIST, 0, offsetof(struct job_gpus, items), .rows = &gpu },
};
/* clang-format on */
static const struct shape shape = { SHAPE_OF(struct job_gpus, fields) };

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

void job_gpu_add(struct job_gpu *g, enum metric_id id, uint64_t number)
{
	struct value *to = job_gpu_number(g, id);

	to->number = metric_get(id)->kind == KIND_COUNTER
			     ? MIN((uint64_t)to->number + number, VALUE_MAX)
			     : MAX((uint64_t)to->number, number);
	to->is_known = true;
}

struct value job_gpus_total(const struct job_gpus *g, enum metric_id id)
{
	return shape_total(&shape, g, id);
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

struct job_gpu *job_gpus_get(struct job_gpus *g, const char *uuid, const char *name,
			     const char *model)
{
	struct job_gpu like = {};

	snprintf(like.uuid, sizeof(like.uuid), "%s", uuid);
	snprintf(like.name, sizeof(like.name), "%s", name);
	snprintf(like.model, sizeof(like.model), "%s", model);
	return shape_row(&shape, g, &like);
}

void job_gpus_clear(void *section)
{
	shape_clear(&shape, section);
}

static const struct section_table table = { "gpu", METRIC_GPU_FIRST, METRIC_GPU_END };

const struct section gpu_section = {
	.name = "gpu",
	.size = sizeof(struct job_gpus),
	.counted = COUNTED_BY_SOURCE,
	.is_partial = true,
	.shape = &shape,
	.type = JSON_ARRAY,
	.table = &table,
};
