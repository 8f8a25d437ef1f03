/* SPDX-License-Identifier: MIT */
/*
 * What a job's folded cgroups did, written down, and back.  Nothing of a text in which anything is
 * odd is taken.
 */
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/text.h"
#include "basic/utf8.h"
#include "jobs/registry_internal.h"
#include "model/document.h"
#include "model/json_place.h"
#include "model/record_field.h"
#include "model/sections.h"
#include "model/shape.h"

#define STATE_SCHEMA "jobmeter.job-state/1"
#define STATE_BYTES_MAX (8u << 20)
#define STATE_CGROUPS_MAX 65536
#define STATE_CORES_MAX 8192
#define STATE_RANKS_MAX 65536 /* of all steps that are told together; further steps have none */

/* Rows and histograms name mounts by where these are in the list. */
struct saved_rows { /* begins as {} */
	struct snapshot_mount *mounts;
	size_t mount_count;
	struct registry_row *rows;
	size_t row_count;
	struct registry_bucket *buckets;
	size_t bucket_count;
	struct registry_cgroup_name *cgroups;
	size_t cgroup_count;
};

static int check_row(const struct place *place, void *of)
{
	const struct registry_row *row = of;

	return row->op >= OP_DATA_COUNT && row->interface != INTERFACE_CALL
		       ? place_refuse(place, "", "names what there is not")
		       : 0;
}

static int check_cgroup(const struct place *place, void *of)
{
	return ((const struct registry_cgroup_name *)of)->members
		       ? 0
		       : place_refuse(place, "", "belongs to no job");
}

static int compare_cores(const void *a, const void *b)
{
	const struct registry_core *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

#define NUMBER SHAPE_UINT, SHAPE_OMIT
#define FACT(member) offsetof(struct job, member), sizeof(uint64_t)
#define JOB(member) offsetof(struct registry_job, member)
#define STEP(member) offsetof(struct registry_step, member)
#define ROW(member) offsetof(struct registry_row, member)
#define BUCKET(member) offsetof(struct registry_bucket, member)
#define MOUNT(member) offsetof(struct snapshot_mount, member)

/* clang-format off */
static const char *const histogram_names[] = { [HISTOGRAM_SIZE] = "size", [HISTOGRAM_LATENCY] = "latency" };

/* Facts that no record has. */
static const struct field fact_fields[] = {
	{ "cpus_allowed", SHAPE_STRING, SHAPE_OMIT, offsetof(struct job, cpus_allowed) },
	{ "gpus", SHAPE_STRING, SHAPE_OMIT, offsetof(struct job, gpus) },
	{ "start_ns", NUMBER, FACT(start_ns) },
	{ "end_ns", NUMBER, FACT(end_ns) },
	{ "measured_from_ns", NUMBER, FACT(measured_from_ns) },
	{ "unmeasured_ns", NUMBER, FACT(unmeasured_ns) },
	{ "start_boot_ns", NUMBER, FACT(start_boot_ns) },
	{ "end_boot_ns", NUMBER, FACT(end_boot_ns) },
	{ "allocated_cores", SHAPE_VALUE, SHAPE_OMIT, offsetof(struct job, allocated_cores) },
	{ "memory_limit", SHAPE_VALUE, SHAPE_OMIT, offsetof(struct job, memory_limit) },
};
static const struct shape facts_shape = { SHAPE_OF(struct job, fact_fields) };

static const struct field core_fields[] = {
	{ NULL, SHAPE_UINT, 0, offsetof(struct registry_core, key), sizeof(uint32_t), .most = UINT32_MAX },
	{ NULL, SHAPE_UINT, 0, offsetof(struct registry_core, on_ns), sizeof(uint64_t) },
};
static const struct shape core_shape = { SHAPE_OF(struct registry_core, core_fields), .max = STATE_CORES_MAX,
	.order = compare_cores };

static const struct field top_fields[] = {
	{ "top_id", SHAPE_ID, SHAPE_OMIT, JOB(top_id) },
	{ "top_path", SHAPE_STRING, SHAPE_OMIT, JOB(top_path) },
};
static const struct shape top_shape = { SHAPE_OF(struct registry_job, top_fields) };
static const struct field job_fields[] = {
	{ "lost_groups", NUMBER, JOB(lost_groups), sizeof(uint64_t) },
	{ "is_delegated", SHAPE_BOOL, 0, JOB(is_delegated) },
	{ "is_announced", SHAPE_BOOL, 0, JOB(is_announced) },
	{ "is_remade", SHAPE_BOOL, 0, JOB(is_remade) },
	{ "is_reported", SHAPE_BOOL, SHAPE_OMIT, JOB(is_reported) },
	{ "last_death_ns", SHAPE_UINT, 0, JOB(last_death_ns), sizeof(uint64_t) },
	{ "values", SHAPE_METRICS, 0, JOB(folded) },
};
static const struct shape job_shape = { SHAPE_OF(struct registry_job, job_fields) };
static const struct field sum_fields[] = {
	{ "cores", SHAPE_TUPLES, SHAPE_FLAT | SHAPE_OMIT, JOB(cores), .rows = &core_shape },
	{ "busiest", SHAPE_UINTS, SHAPE_OMIT, JOB(busiest), sizeof(struct busiest_threads) / sizeof(uint64_t) },
	{ "thermal", SHAPE_UINTS, SHAPE_OMIT, JOB(thermal), THERMAL_SUMS },
};
static const struct shape sums_shape = { SHAPE_OF(struct registry_job, sum_fields) };
/* Of struct value[METRIC_JOB_COUNT]. */
static const struct field base_fields[] = { { "base", SHAPE_METRICS, 0, 0 } };
static const struct shape base_shape = { SHAPE_OF(struct value[METRIC_JOB_COUNT], base_fields) };
static const struct field shown_fields[] = { { "shown", SHAPE_METRICS, 0, 0 } };
static const struct shape shown_shape = { SHAPE_OF(struct value[METRIC_JOB_COUNT], shown_fields) };

static const struct field step_fields[] = {
	{ "id", SHAPE_STRING, SHAPE_NEEDED, STEP(id) },
	{ "start_ns", SHAPE_UINT, 0, STEP(start_ns), sizeof(uint64_t) },
	{ "end_ns", SHAPE_UINT, 0, STEP(end_ns), sizeof(uint64_t) },
	{ "values", SHAPE_METRICS, 0, STEP(folded) },
};
static const struct shape step_shape = { SHAPE_OF(struct registry_step, step_fields) };
static const struct field rank_fields[] = {
	{ "ranks", SHAPE_TUPLES, SHAPE_FLAT, STEP(ranks), .rows = &core_shape },
};
static const struct shape ranks_shape = { SHAPE_OF(struct registry_step, rank_fields) };

static const struct field mount_fields[] = {
	{ "kind", SHAPE_WORD, SHAPE_OMIT, MOUNT(kind), sizeof(enum row_kind), .most = ROW_KIND_COUNT, .names = row_kind_names },
	{ "name", SHAPE_STRING, SHAPE_NEEDED, MOUNT(name) },
	{ "fstype", SHAPE_STRING, SHAPE_OMIT, MOUNT(fstype) },
	{ "source", SHAPE_STRING, SHAPE_OMIT, MOUNT(source) },
	{ "aliases", SHAPE_STRINGS, SHAPE_OMIT, MOUNT(aliases), MOUNT_ALIASES_MAX },
};
static const struct shape mount_shape = { SHAPE_OF(struct snapshot_mount, mount_fields), .is_flat = true,
	.is_strict = true, .max = MOUNTS_JOB_MAX };
static const struct field row_fields[] = {
	{ NULL, SHAPE_UINT, 0, ROW(mount), sizeof(uint32_t), .most = UINT32_MAX },
	{ NULL, SHAPE_WORD, 0, ROW(op), sizeof(uint8_t), .most = OP_COUNT, .names = file_op_names },
	{ NULL, SHAPE_WORD, 0, ROW(interface), sizeof(uint8_t), .most = INTERFACE_COUNT, .names = file_interface_names },
	{ NULL, SHAPE_UINT, 0, ROW(counts.calls), sizeof(uint64_t) },
	{ NULL, SHAPE_UINT, 0, ROW(counts.errors), sizeof(uint64_t) },
	{ NULL, SHAPE_UINT, 0, ROW(counts.ns), sizeof(uint64_t) },
	{ NULL, SHAPE_UINT, 0, ROW(counts.amount), sizeof(uint64_t) },
};
static const struct shape row_shape = { SHAPE_OF(struct registry_row, row_fields), .check = check_row,
	.max = (size_t)MOUNTS_JOB_MAX * OP_COUNT * INTERFACE_COUNT };
static const struct field bucket_fields[] = {
	{ NULL, SHAPE_UINT, 0, BUCKET(mount), sizeof(uint32_t), .most = UINT32_MAX },
	{ NULL, SHAPE_WORD, 0, BUCKET(op), sizeof(uint8_t), .most = OP_DATA_COUNT, .names = file_op_names },
	{ NULL, SHAPE_WORD, 0, BUCKET(kind), sizeof(uint8_t), .most = ARRAY_SIZE(histogram_names), .names = histogram_names },
	{ NULL, SHAPE_UINT, 0, BUCKET(bucket), sizeof(uint8_t), .most = HISTOGRAM_BUCKETS - 1 },
	{ NULL, SHAPE_UINT, 0, BUCKET(count), sizeof(uint64_t) },
};
static const struct shape bucket_shape = { SHAPE_OF(struct registry_bucket, bucket_fields),
	.max = (size_t)MOUNTS_JOB_MAX * OP_DATA_COUNT * 2 * HISTOGRAM_BUCKETS };
static const struct field cgroup_fields[] = {
	{ NULL, SHAPE_ID, 0, offsetof(struct registry_cgroup_name, id) },
	{ NULL, SHAPE_UINT, 0, offsetof(struct registry_cgroup_name, members), sizeof(uint32_t), .most = MEMBERS_MAX },
};
static const struct shape cgroup_shape = { SHAPE_OF(struct registry_cgroup_name, cgroup_fields),
	.check = check_cgroup, .max = STATE_CGROUPS_MAX };
static const struct field saved_fields[] = {
	{ "mounts", SHAPE_LIST, SHAPE_NEEDED, offsetof(struct saved_rows, mounts), .rows = &mount_shape },
	{ "rows", SHAPE_TUPLES, SHAPE_NEEDED, offsetof(struct saved_rows, rows), .rows = &row_shape },
	{ "histograms", SHAPE_TUPLES, SHAPE_NEEDED, offsetof(struct saved_rows, buckets), .rows = &bucket_shape },
	{ "cgroups", SHAPE_TUPLES, SHAPE_NEEDED, offsetof(struct saved_rows, cgroups), .rows = &cgroup_shape },
};
static const struct shape saved_shape = { SHAPE_OF(struct saved_rows, saved_fields) };

/* What else a job's text may hold, beside facts and sections; and a step's. */
static const struct shape *const job_shapes[] = { &facts_shape, &top_shape, &job_shape, &base_shape, &shown_shape,
	&sums_shape, &saved_shape, &registry_gaps_shape, &registry_traces_shape };
static const char *const job_keys[] = { "schema", "boot_id", "manager", "id", "number", "maker_uid", "oom", "ports",
	"lost", "steps", "timeline" };
/* clang-format on */

/* ---- writing ---- */

static void put_string(struct document *d, const char *key, const char *text)
{
	if (text)
		document_put_string(d, key, text);
}

static void put_facts(struct document *d, const struct job *facts)
{
	for (size_t i = 0; i < record_field_count; i++) {
		const struct record_field *field = &record_fields[i];
		const void *at = record_field_in_job(field, facts);

		if (!(field->fact & FACT_STATE))
			continue;
		if (field->type == FIELD_STRING)
			put_string(d, field->key, *(char *const *)at);
		else if (*(const int64_t *)at >= 0)
			document_put_unsigned(d, field->key, (uint64_t) * (const int64_t *)at);
	}
	shape_format(&facts_shape, facts, d);
}

static bool is_text(const char *text)
{
	_cleanup_free_ char *repaired = utf8_repair(text);

	return repaired && strcmp(repaired, text) == 0;
}

static void put_top(struct document *d, const struct registry_job *j)
{
	struct registry_job top = { .top_id = j->top_id };

	if (j->top_path && is_text(j->top_path)) /* else the id has to do */
		top.top_path = j->top_path;
	shape_format(&top_shape, &top, d);
	if (j->maker_uid != UINT32_MAX)
		document_put_unsigned(d, "maker_uid", j->maker_uid);
}

/* A job of a thousand steps on all CPUs would have a text that nobody writes. */
static void put_steps(struct document *d, const struct registry_job *j)
{
	size_t left = STATE_RANKS_MAX;

	document_begin_list_of(d, "steps");
	for (size_t i = 0; i < j->step_count; i++) {
		const struct registry_step *step = j->steps[i];

		document_begin_flat_map(d);
		shape_format(&step_shape, step, d);
		if (!step->lacks_ranks && step->ranks.count <= left) {
			shape_format(&ranks_shape, step, d);
			left -= step->ranks.count;
		}
		parts_format(&step->parts, true, COUNTED_ALL, d);
		document_end_map(d);
	}
	document_end_list(d);
}

static int put_rows(struct document *d, const struct registry_job *j)
{
	_cleanup_free_ struct snapshot_mount *mounts = calloc(j->mount_count + 1, sizeof(*mounts));
	_cleanup_free_ struct registry_row *rows = calloc(j->row_count + 1, sizeof(*rows));
	_cleanup_free_ struct registry_bucket *buckets = calloc(j->bucket_count + 1,
								sizeof(*buckets));
	const struct saved_rows saved = { mounts,  j->mount_count,  rows,	j->row_count,
					  buckets, j->bucket_count, j->pending, j->pending_count };

	if (!mounts || !rows || !buckets)
		return -ENOMEM;
	for (size_t i = 0; i < j->mount_count; i++)
		mounts[i] = j->registry->mounts[j->mounts[i]].mount;
	for (size_t i = 0; i < j->row_count; i++) {
		rows[i] = j->rows[i];
		rows[i].mount = (uint32_t)registry_job_find_mount(j, rows[i].mount);
	}
	for (size_t i = 0; i < j->bucket_count; i++) {
		buckets[i] = j->buckets[i];
		buckets[i].mount = (uint32_t)registry_job_find_mount(j, buckets[i].mount);
	}
	shape_format(&saved_shape, &saved, d);
	return 0;
}

/* The least that the next agent may show, where nothing else goes over to it: how CPU time splits
 * into user and system is not what it was whenever it is asked.  NULL: nothing is. */
static const struct value *shown_of(const struct registry_job *j)
{
	return j->is_put_aside && j->shown ? j->registry->shown->jobs[j->shown - 1].values
					   : j->least;
}

static int put_job(struct document *d, const struct registry_job *j)
{
	static const struct value nothing[METRIC_JOB_COUNT];
	int r;

	document_begin_map(d);
	put_string(d, "schema", STATE_SCHEMA);
	put_string(d, "boot_id", j->registry->options.boot_id);
	put_string(d, "manager", j->facts->manager);
	put_string(d, "id", j->name);
	if (strcmp(j->facts->id, j->name) != 0)
		put_string(d, "number", j->facts->id);
	put_facts(d, j->facts);
	put_top(d, j);
	shape_format(&job_shape, j, d);
	shape_format(&base_shape, j->base ? j->base : nothing, d);
	if (shown_of(j))
		shape_format(&shown_shape, shown_of(j), d);
	shape_format(&sums_shape, j, d);
	if (j->oom_list) {
		document_key(d, "oom");
		section_format(&oom_section, j->oom_list, d);
	}
	registry_ports_format(&j->ports, d);
	if (j->counted_until_ns)
		shape_format(&registry_gaps_shape, j, d);
	registry_losses_format(j, d);
	parts_format(&j->parts, false, registry_counted(j->registry), d);
	if (j->traces)
		shape_format(&registry_traces_shape, j->traces, d);
	put_steps(d, j);
	r = put_rows(d, j);
	if (r == 0 && timeline_is_known(&j->timeline)) {
		document_key(d, "timeline");
		r = timeline_save(&j->timeline, d);
	}
	document_end_map(d);
	return r;
}

int registry_format_job(const struct registry_job *j, char **ret)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_fclose_ FILE *out = NULL;
	_cleanup_(document_freep) struct document *d = NULL;
	size_t size;
	int r, code;

	out = open_memstream(&text, &size);
	d = out ? document_new_json(out, DOCUMENT_INDENTED) : NULL;
	if (!d)
		return -ENOMEM;
	r = put_job(d, j);
	code = document_finish(d);
	r = r < 0 ? r : code;
	if (fclose(TAKE_PTR(out)) != 0 && r == 0)
		r = -ENOMEM;
	if (r == 0)
		*ret = TAKE_PTR(text);
	return r;
}

/* ---- and back ---- */

/* What was read, until all of it is known to be good. */
struct saved {
	struct registry_job *job; /* of no registry's list; without its rows, which are... */
	struct saved_rows rows;
	char *boot_id;
};

static void saved_clear(struct saved *s)
{
	shape_clear(&saved_shape, &s->rows);
	free(s->boot_id);
	registry_job_free(s->job);
}

/* A section that is kept, by its key as parts_format() writes it. */
static bool is_kept(const char *key, bool is_of_step)
{
	for (size_t i = 0; i < section_count; i++) {
		if (sections[i]->counted && strcmp(section_key(sections[i]), key) == 0)
			return !is_of_step || sections[i]->is_of_steps;
	}
	return false;
}

static bool is_of_step(const char *key)
{
	return shape_has_key(&step_shape, key) || shape_has_key(&ranks_shape, key) ||
	       is_kept(key, true);
}

static bool is_of_job(const char *key)
{
	for (size_t i = 0; i < record_field_count; i++) {
		if (record_fields[i].fact & FACT_STATE && strcmp(record_fields[i].key, key) == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(job_shapes); i++) {
		if (shape_has_key(job_shapes[i], key))
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(job_keys); i++) {
		if (strcmp(job_keys[i], key) == 0)
			return true;
	}
	return is_kept(key, false);
}

static int check_keys(const struct place *place, const json_t *map, bool (*is_key)(const char *key))
{
	const char *key;
	json_t *value;

	if (!json_is_object(map))
		return place_refuse(place, "", "is %s and should be a map", place_type_name(map));
	json_object_foreach((json_t *)map, key, value)
	{
		if (!is_key(key) || json_is_null(value))
			return place_refuse(place, "", "has something else: '%.40s'", key);
	}
	return 0;
}

static int need_string(const struct place *place, const json_t *map, const char *key, char **ret)
{
	int r = place_take_string(place, map, key, ret);

	return r == 0 && (!*ret || !**ret) ? place_refuse(place, key, "is missing") : r;
}

static int take_facts(const struct place *place, const json_t *root, struct registry_job *j)
{
	struct job *facts = j->facts;
	int r = 0;

	for (size_t i = 0; r == 0 && i < record_field_count; i++) {
		const struct record_field *field = &record_fields[i];
		void *at = record_field_in_job(field, facts);

		if (!(field->fact & FACT_STATE))
			continue;
		r = field->type == FIELD_STRING
			    ? place_take_string(place, root, field->key, at)
			    : place_take_signed(place, root, field->key, 0,
						at == &facts->uid ? UINT32_MAX : INT64_MAX, at);
	}
	if (r == 0 && place_member(root, "number"))
		r = need_string(place, root, "number", &facts->id);
	return r < 0 ? r : shape_parse(&facts_shape, place, root, facts);
}

static int take_top(const struct place *place, const json_t *root, struct registry_job *j)
{
	int64_t maker = -1;
	int r = place_take_signed(place, root, "maker_uid", 0, UINT32_MAX - 1, &maker);

	j->is_delegated = maker >= 0; /* of one from before it was told */
	j->maker_uid = maker >= 0 ? (uint32_t)maker : UINT32_MAX;
	if (r == 0)
		r = shape_parse(&top_shape, place, root, j);
	if (r == 0)
		r = shape_parse(&job_shape, place, root, j);
	if (r == 0)
		r = shape_parse(&sums_shape, place, root, j);
	j->facts->group_id = j->top_id;
	return r;
}

/* Of values that few jobs have. */
static int take_values(const struct place *place, const json_t *root, const struct shape *shape,
		       struct value **ret)
{
	*ret = calloc(METRIC_JOB_COUNT, sizeof(**ret));
	return *ret ? shape_parse(shape, place, root, *ret) : -ENOMEM;
}

static int take_shown(const struct place *place, const json_t *root, struct registry_job *j)
{
	const json_t *base = json_object_get(root, "base");
	int r = json_is_object(base) && json_object_size(base) == 0
			? 0
			: take_values(place, root, &base_shape, &j->base);

	return r == 0 && json_object_get(root, "shown")
		       ? take_values(place, root, &shown_shape, &j->least)
		       : r;
}

static int take_oom_kills(const struct place *place, const json_t *root, struct registry_job *j)
{
	if (!place_member(root, "oom"))
		return 0;
	j->oom_list = calloc(1, sizeof(*j->oom_list));
	return j->oom_list ? section_take(&oom_section, place, root, j->oom_list) : -ENOMEM;
}

static int take_gaps(const struct place *place, const json_t *root, struct registry_job *j)
{
	int r = shape_parse(&registry_gaps_shape, place, root, j);

	if (r == 0 && place_member(root, "counted_until_ns") && !place_member(root, "tasks"))
		r = place_refuse(place, "tasks", "is missing");
	j->bases.room = j->bases.count; /* at least */
	return r;
}

static int take_parts(const struct place *place, const json_t *root, struct registry_job *j)
{
	return parts_parse(place, root, false, &j->parts);
}

static int take_step(const struct place *place, const json_t *map, void *job)
{
	_cleanup_free_ char *id = NULL;
	struct registry_job *j = job;
	struct registry_step *step;
	size_t before = j->step_count;
	int r = check_keys(place, map, is_of_step);

	if (r == 0)
		r = need_string(place, map, "id", &id);
	if (r < 0)
		return r;
	step = registry_job_step(j, id);
	if (!step)
		return -ENOMEM;
	if (j->step_count == before)
		return place_refuse(place, "id", "is there twice");
	r = shape_parse(&step_shape, place, map, step);
	step->lacks_ranks = !json_object_get(map, "ranks"); /* from before they were told apart */
	if (r == 0)
		r = shape_parse(&ranks_shape, place, map, step);
	return r < 0 ? r : parts_parse(place, map, true, &step->parts);
}

static int take_steps(const struct place *place, const json_t *root, struct registry_job *j)
{
	const struct place here = place_below(place, "steps");
	const json_t *list;
	int r = place_get(place, root, "steps", JSON_ARRAY, &list);

	if (r == 0 && !list)
		return place_refuse(place, "steps", "is missing");
	return r < 0 ? r : place_each(&here, list, j->registry->options.steps_max, take_step, j);
}

static int take_timeline(const struct place *place, const json_t *root, struct registry_job *j)
{
	struct place here = place_below(place, "timeline");
	const json_t *timeline;
	int r = place_get(place, root, "timeline", JSON_OBJECT, &timeline);

	return r < 0 || !timeline ? r : timeline_restore(&here, timeline, &j->timeline);
}

static int take_rows(const struct place *place, const json_t *root, struct saved_rows *ret)
{
	int r = shape_parse(&saved_shape, place, root, ret);

	for (size_t i = 0; r == 0 && i < ret->row_count; i++)
		r = ret->rows[i].mount < ret->mount_count
			    ? 0
			    : place_refuse(place, "rows", "name what there is not");
	for (size_t i = 0; r == 0 && i < ret->bucket_count; i++)
		r = ret->buckets[i].mount < ret->mount_count && ret->buckets[i].count
			    ? 0
			    : place_refuse(place, "histograms", "name what there is not");
	if (ret->cgroup_count)
		qsort(ret->cgroups, ret->cgroup_count, sizeof(*ret->cgroups), ids_compare);
	for (size_t i = 1; r == 0 && i < ret->cgroup_count; i++) {
		if (ret->cgroups[i].id == ret->cgroups[i - 1].id)
			r = place_refuse(place, "cgroups", "names one twice");
	}
	return r;
}

/* ---- the whole ---- */

static int (*const takers[])(const struct place *place, const json_t *root,
			     struct registry_job *j) = {
	take_facts,
	take_top,
	take_shown,
	take_oom_kills,
	registry_ports_parse,
	take_gaps,
	registry_losses_parse,
	take_parts,
	take_steps,
	take_timeline,
	registry_traces_parse,
};

static int read_job(struct registry *r, const json_t *root, struct saved *s, struct error *err)
{
	struct place place = { .err = err };
	_cleanup_free_ char *manager = NULL, *id = NULL;
	const json_t *schema = json_is_object(root) ? place_member(root, "schema") : NULL;
	int code;

	if (!json_is_string(schema) || strcmp(json_string_value(schema), STATE_SCHEMA) != 0)
		return error_set(err, -EINVAL, "this is no state of a job: the schema is not '%s'",
				 STATE_SCHEMA);
	code = check_keys(&place, root, is_of_job);
	if (code == 0)
		code = need_string(&place, root, "manager", &manager);
	if (code == 0)
		code = need_string(&place, root, "id", &id);
	if (code == 0)
		code = need_string(&place, root, "boot_id", &s->boot_id);
	if (code < 0)
		return code;
	s->job = registry_job_new(r, manager, id);
	if (!s->job)
		return -ENOMEM;
	for (size_t i = 0; code == 0 && i < ARRAY_SIZE(takers); i++)
		code = takers[i](&place, root, s->job);
	return code < 0 ? code : take_rows(&place, root, &s->rows);
}

/* Give the mounts slots of the registry, and the job its rows. */
static int place_rows(struct saved_rows *saved, struct registry_job *j)
{
	_cleanup_free_ uint32_t *slots = calloc(saved->mount_count + 1, sizeof(*slots));

	assert(j);
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < saved->mount_count; i++) {
		slots[i] = registry_mount_slot(j->registry, &saved->mounts[i]);
		if (slots[i] != MOUNTS_MAX)
			slots[i] = registry_job_mount(j, slots[i]);
		if (slots[i] == MOUNTS_MAX)
			return -ENOMEM;
	}
	for (size_t i = 0; i < saved->row_count; i++)
		saved->rows[i].mount = slots[saved->rows[i].mount];
	for (size_t i = 0; i < saved->bucket_count; i++)
		saved->buckets[i].mount = slots[saved->buckets[i].mount];
	j->row_count = registry_rows_sum(saved->rows, saved->row_count);
	j->rows = TAKE_PTR(saved->rows);
	j->bucket_count = registry_buckets_sum(saved->buckets, saved->bucket_count);
	j->buckets = TAKE_PTR(saved->buckets);
	j->pending_count = saved->cgroup_count;
	j->pending = TAKE_PTR(saved->cgroups);
	return 0;
}

/* A cgroup that was folded into this job. */
static int adopt_cgroup(struct registry_job *j, const struct registry_cgroup_name *cgroup)
{
	struct registry *r = j->registry;
	struct registry_group *g = idmap_get(&r->groups, cgroup->id);

	if (!g) {
		g = calloc(1, sizeof(*g));
		if (!g)
			return -ENOMEM;
		g->id = cgroup->id;
		if (idmap_put(&r->groups, g->id, g) < 0) {
			free(g);
			return -ENOMEM;
		}
	}
	if (g->member_count == MEMBERS_MAX)
		return 0;
	g->wanted_members = (uint8_t)MAX(g->wanted_members, cgroup->members);
	g->members[g->member_count++] = (struct registry_member){ .job = j, .is_folded = true };
	j->groups++;
	return 0;
}

/* With the boot went all groups, and what CLOCK_BOOTTIME said. */
static void end_with_boot(struct registry_job *j)
{
	j->facts->start_boot_ns = 0;
	j->facts->end_boot_ns = j->registry->options.started_boot_ns;
	j->timeline.last_boot_ns = j->facts->end_boot_ns; /* nothing goes on after its last reading
							   */
	j->is_ended = j->is_reported = true;
	j->top_id = j->facts->group_id = 0;
	j->last_death_ns = 0;
	j->pending_count = 0;
}

static int adopt(struct registry *r, struct saved *s)
{
	struct registry_job *j = s->job;
	int code = place_rows(&s->rows, j);

	if (code == 0)
		code = registry_job_enlist(j);
	if (code < 0)
		return code;
	s->job = NULL; /* it is the registry's */
	j->is_restored = j->has_state = true;
	j->saved_boot_ns = j->timeline.last_boot_ns;
	if (!text_is_equal(s->boot_id, r->options.boot_id))
		end_with_boot(j);
	else
		j->is_ended = j->facts->end_boot_ns != 0;
	for (size_t i = 0; code == 0 && i < j->pending_count; i++)
		code = adopt_cgroup(j, &j->pending[i]);
	r->has_restored = true;
	return code;
}

int registry_parse_job(struct registry *r, const char *text, size_t length, struct error *err)
{
	_cleanup_(saved_clear) struct saved saved = {};
	_cleanup_(json_freep) json_t *root = NULL;
	json_error_t error;
	int code;

	if (length > STATE_BYTES_MAX)
		return error_set(err, -EINVAL, "it has more than %u MiB", STATE_BYTES_MAX >> 20);
	root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return error_set(err, -EINVAL, "line %d: %s", error.line, error.text);
	code = read_job(r, root, &saved, err);
	if (code == 0) {
		code = adopt(r, &saved);
		if (code == -ENOSPC) /* should it be known later, what is written down is not in it
				      */
			code = registry_lacking_add(r, saved.job->facts->manager, saved.job->name);
	}
	return code == -ENOMEM ? error_set_errno(err, ENOMEM, "cannot take it in") : code;
}
