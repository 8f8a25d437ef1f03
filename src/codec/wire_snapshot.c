/* SPDX-License-Identifier: MIT */
#include "codec/wire_snapshot.h"

#include <errno.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "model/job.h"
#include "model/json_place.h"
#include "model/shape.h"
#include "codec/record_parse.h"

void wire_snapshot_clear(struct tick *t)
{
	records_clear(&t->jobs);
	*t = (struct tick){};
}

/* clang-format off */
#define SECONDS(key, flags, type, member) { key, SHAPE_NUMBER, flags, offsetof(type, member), .unit = UNIT_SECONDS }

static const struct field head_fields[] = {
	{ "time", SHAPE_TIME, 0, offsetof(struct tick, real_ns) },
	SECONDS("boot_seconds", SHAPE_OR_NULL, struct tick, boot_ns),
	SECONDS("took_seconds", SHAPE_OR_NULL, struct tick, took_ns),
};
static const struct shape head_shape = { SHAPE_OF(struct tick, head_fields) };

/* A job that did nothing. */
struct unchanged {
	bool is_unchanged;
	const char *manager, *id; /* another's */
	uint64_t elapsed_ns;
};
static const struct field unchanged_fields[] = {
	{ "unchanged", SHAPE_BOOL, 0, offsetof(struct unchanged, is_unchanged) },
	{ "manager", SHAPE_LENT, 0, offsetof(struct unchanged, manager), PLACE_STRING_MAX },
	{ "id", SHAPE_LENT, 0, offsetof(struct unchanged, id), PLACE_STRING_MAX },
	SECONDS("elapsed_seconds", SHAPE_OR_NULL, struct unchanged, elapsed_ns),
};
static const struct shape unchanged_shape = { SHAPE_OF(struct unchanged, unchanged_fields) };
/* clang-format on */

void wire_snapshot_format_head(const struct tick *t, struct document *d)
{
	document_put_string(d, "schema", WIRE_SNAPSHOT_SCHEMA);
	shape_format(&head_shape, t, d);
	node_values_format(&t->node, d);
}

void wire_snapshot_format_unchanged(const struct job *job, uint64_t elapsed_ns, struct document *d)
{
	const struct unchanged u = { true, job->manager, job->id, elapsed_ns };

	document_begin_map(d);
	shape_format(&unchanged_shape, &u, d);
	document_end_map(d);
}

static int take_head(const struct place *place, const json_t *root, struct tick *to)
{
	const char *schema = json_string_value(json_object_get(root, "schema"));
	int r;

	if (!schema || strcmp(schema, WIRE_SNAPSHOT_SCHEMA) != 0)
		return place_refuse(place, "schema", "is not '%s'", WIRE_SNAPSHOT_SCHEMA);
	r = shape_parse(&head_shape, place, root, to);
	if (r == 0)
		r = node_values_parse(place, root, &to->node);
	if (r == 0 && !to->boot_ns)
		r = place_refuse(place, "boot_seconds", "is missing");
	return r;
}

/* The record of that name; most often it is the one at @place, or behind it. */
static struct record *find_before(const struct records *before, size_t place, const char *manager,
				  const char *id)
{
	for (size_t i = 0; i < before->count; i++) {
		struct record *r = before->items[(place + i) % before->count];

		if (strcmp(r->job.id, id) == 0 && strcmp(r->job.manager, manager) == 0)
			return r;
	}
	return NULL;
}

static int share_unchanged(const json_t *json, const struct tick *before, struct records *to,
			   struct error *err)
{
	static const struct records none;
	const struct place place = { .err = err };
	struct record *record;
	struct unchanged u = {};
	int r = shape_parse(&unchanged_shape, &place, json, &u);

	if (r == 0 && (!*u.manager || !*u.id))
		return error_set(err, -EINVAL, "job lacks manager or id");
	record = r == 0 ? find_before(before ? &before->jobs : &none, to->count, u.manager, u.id)
			: NULL;
	if (r == 0 && !record)
		return error_set(err, -ESTALE, "it lacks a job of the snapshot before");
	if (r == 0)
		r = records_add(to, record);
	if (r == 0)
		record_share(record)->time.elapsed_ns = u.elapsed_ns;
	return r;
}

static int take_job(const json_t *json, const struct tick *before, struct records *to,
		    struct error *err)
{
	_cleanup_(record_freep) struct record *record = NULL;
	int r;

	if (json_is_true(json_object_get(json, "unchanged")))
		return share_unchanged(json, before, to, err);
	r = record_parse(json, &record, err);
	if (r == 0 && (!record->job.manager || !record->job.id))
		return error_set(err, -EINVAL, "job lacks manager or id");
	if (r == 0)
		r = records_add(to, record);
	if (r == 0)
		TAKE_PTR(record);
	return r;
}

static int take_jobs(const struct place *place, const json_t *root, const struct tick *before,
		     struct tick *to)
{
	const json_t *jobs = NULL;
	int r = place_get(place, root, "jobs", JSON_ARRAY, &jobs);

	if (r == 0 && !jobs)
		return place_refuse(place, "jobs", "is missing");
	if (r == 0 && json_array_size(jobs) > WIRE_SNAPSHOT_JOBS_MAX)
		return place_refuse(place, "jobs", "has more than %d entries",
				    WIRE_SNAPSHOT_JOBS_MAX);
	for (size_t i = 0; r == 0 && i < json_array_size(jobs); i++) {
		r = take_job(json_array_get(jobs, i), before, &to->jobs, place->err);
		if (r < 0)
			error_prefix(place->err, r, "jobs[%zu]", i);
	}
	return r;
}

int wire_snapshot_parse(const char *text, size_t length, const struct tick *before,
			struct tick *ret, struct error *err)
{
	_cleanup_(json_freep) json_t *root = NULL;
	struct place place = { .err = err };
	struct tick tick = {};
	int r = place_parse_map(text, length, &root, err);

	if (r < 0)
		return r;
	r = take_head(&place, root, &tick);
	if (r == 0)
		r = take_jobs(&place, root, before, &tick);
	if (r == -ENOMEM)
		error_set_errno(err, r, "cannot read it");
	if (r == 0)
		*ret = tick;
	else
		wire_snapshot_clear(&tick);
	return r;
}
