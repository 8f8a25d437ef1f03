/* SPDX-License-Identifier: MIT */
/*
 * What traces of a job have told.  Each tells its sums so far, and what came since it told them
 * last is added to the job's section; so sums that are told again add nothing.  The last ones of a
 * few traces are kept, also in the job's state; of one that began before one that is kept no more,
 * it is not known what was added, and nothing is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "jobs/registry_internal.h"
#include "model/json_place.h"
#include "model/sections.h"
#include "model/shape.h"

void registry_traces_clear(struct registry_job *j)
{
	for (size_t i = 0; j->traces && i < j->traces->count; i++)
		traced_calls_clear(&j->traces->items[i].last);
	free(j->traces);
	j->traces = NULL;
}

static struct registry_traces *get_traces(struct registry_job *j)
{
	if (!j->traces)
		j->traces = calloc(1, sizeof(*j->traces));
	return j->traces;
}

/* The one that told something longest ago. */
static void forget_one(struct registry_traces *t)
{
	struct registry_trace *first = &t->items[0];

	t->forgotten = MAX(t->forgotten, first->id);
	traced_calls_clear(&first->last);
	memmove(first, first + 1, --t->count * sizeof(*first));
}

/* It is the last of the list from then on.  NULL: it may be one that was forgotten. */
static struct registry_trace *get_trace(struct registry_traces *t, uint64_t id)
{
	struct registry_trace found = { .id = id };
	size_t i = 0;

	while (i < t->count && t->items[i].id != id)
		i++;
	if (i == t->count && id <= t->forgotten)
		return NULL;
	if (i < t->count) {
		found = t->items[i];
		memmove(&t->items[i], &t->items[i + 1], (--t->count - i) * sizeof(found));
	} else if (t->count == REGISTRY_TRACES_MAX) {
		forget_one(t);
	}
	t->items[t->count] = found;
	return &t->items[t->count++];
}

int registry_job_add_trace(struct registry_job *j, uint64_t id, uint64_t until_ns,
			   const struct traced_calls *now)
{
	_cleanup_(traced_calls_clear) struct traced_calls added = {};
	struct registry_traces *traces = get_traces(j);
	struct registry_trace *trace = traces ? get_trace(traces, id) : NULL;
	int r;

	if (!trace)
		return traces ? -ESTALE : -ENOMEM;
	trace->until_ns = until_ns;
	r = traced_difference(now, &trace->last, &added);
	if (r == 0)
		r = parts_add_one(&j->parts, &trace_section, &added);
	if (r == 0)
		r = section_raise(&trace_section, &trace->last, now);
	j->is_changed = true;
	return r;
}

bool registry_is_traced(const struct registry_job *j)
{
	const struct snapshot *shown = j->registry->shown;

	for (size_t i = 0; shown && j->traces && i < j->traces->count; i++) {
		if (shown->boot_ns < j->traces->items[i].until_ns)
			return true;
	}
	return false;
}

/* ---- in the state ---- */

/* clang-format off */
static const struct field trace_fields[] = {
	{ "id", SHAPE_ID, SHAPE_NEEDED | SHAPE_ALWAYS, offsetof(struct registry_trace, id) },
	{ "trace", SHAPE_MAP, SHAPE_ALWAYS, offsetof(struct registry_trace, last), .rows = &traced_shape },
};
static const struct shape trace_shape = { SHAPE_OF(struct registry_trace, trace_fields), .max = REGISTRY_TRACES_MAX };
static const struct field fields[] = {
	{ "traces_forgotten", SHAPE_ID, SHAPE_NEEDED | SHAPE_ALWAYS, offsetof(struct registry_traces, forgotten) },
	{ "traces", SHAPE_ARRAY, 0, offsetof(struct registry_traces, items), .rows = &trace_shape },
};
const struct shape registry_traces_shape = { SHAPE_OF(struct registry_traces, fields) };
/* clang-format on */

int registry_traces_parse(const struct place *place, const json_t *root, struct registry_job *j)
{
	if (!place_member(root, "traces"))
		return 0;
	return get_traces(j) ? shape_parse(&registry_traces_shape, place, root, j->traces)
			     : -ENOMEM;
}
