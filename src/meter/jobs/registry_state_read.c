/* SPDX-License-Identifier: MIT */
/* The way back from the text of registry_state.c.  Nothing of a text in which anything is odd is
 * taken. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "model/json_place.h"
#include "basic/macro.h"
#include "jobs/registry_internal.h"
#include "jobs/registry_state.h"
#include "jobs/state_values.h"
#include "basic/text.h"
#include "model/record_field.h"
#include "model/sections.h"
#include "model/timeline_json.h"

/* clang-format off */
const struct state_key state_numbers[] = {
	{ "start_ns", offsetof(struct job, start_ns) }, { "end_ns", offsetof(struct job, end_ns) },
	{ "measured_from_ns", offsetof(struct job, measured_from_ns) },
	{ "unmeasured_ns", offsetof(struct job, unmeasured_ns) },
	{ "start_boot_ns", offsetof(struct job, start_boot_ns) }, { "end_boot_ns", offsetof(struct job, end_boot_ns) },
};
const size_t state_number_count = ARRAY_SIZE(state_numbers);

/* All keys there may be; any other is odd. */
static const char *const job_keys[] = {
	"schema", "boot_id", "manager", "id", "number", "cpus_allowed", "gpus", "allocated_cores", "memory_limit", "top_id",
	"top_path", "maker_uid", "lost_groups", "is_delegated", "is_announced", "is_remade", "is_reported", "last_death_ns", "values", "base",
	"shown", "cores", "busiest", "thermal", "oom", "ports", "counted_until_ns", "is_put_aside", "tasks", "lost", "steps", "mounts", "rows",
	"histograms", "cgroups", "timeline", "traces", "traces_forgotten", NULL,
};
static const char *const step_keys[] = { "id", "start_ns", "end_ns", "values", "ranks", NULL };
/* clang-format on */

const uint64_t *state_number_get(const struct job *facts, size_t i)
{
	return (const uint64_t *)(const void *)((const char *)facts + state_numbers[i].offset);
}

/* What was read, until all of it is known to be good. */
struct saved {
	struct registry_job *job; /* of no registry's list; its rows name mounts by their place
				     below */
	char *boot_id;
	struct state_mounts mounts;
};

static void saved_clear(struct saved *s)
{
	state_mounts_clear(&s->mounts);
	free(s->boot_id);
	registry_job_free(s->job);
}

static bool is_of_step(const char *key)
{
	const struct section *section = section_find(key);

	return section && section->counted && section->is_of_steps;
}

/* A fact, or a section that cgroups add up to. */
static bool is_fact(const char *key)
{
	for (size_t i = 0; i < record_field_count; i++) {
		if (record_fields[i].fact & FACT_STATE && strcmp(record_fields[i].key, key) == 0)
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(state_numbers); i++) {
		if (strcmp(state_numbers[i].key, key) == 0)
			return true;
	}
	return section_find(key) && section_find(key)->counted;
}

/* ---- parts ---- */

static enum metric_id find_metric(const char *name)
{
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);
		size_t length = strlen(metric->section);

		if (strncmp(name, metric->section, length) == 0 && name[length] == '.' &&
		    strcmp(name + length + 1, metric->key) == 0)
			return (enum metric_id)i;
	}
	return METRIC_JOB_COUNT;
}

static int take_values(const struct place *place, const json_t *above, const char *key,
		       struct value *ret)
{
	struct place here = place_below(place, key);
	const json_t *map;
	const char *name;
	json_t *value;
	int r = place_get(place, above, key, JSON_OBJECT, &map);

	if (r == 0 && !map)
		return place_refuse(place, key, "is missing");
	if (r < 0)
		return r;
	json_object_foreach((json_t *)map, name, value)
	{
		enum metric_id id = find_metric(name);

		if (id == METRIC_JOB_COUNT)
			return place_refuse(&here, "", "has something else: '%.40s'", name);
		r = state_take_value(&here, map, name, VALUE_MAX, &ret[id]);
		if (r == 0 && !ret[id].is_known)
			r = place_refuse(&here, name, "is null");
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_facts(const struct place *place, const json_t *root, struct registry_job *j)
{
	struct job *facts = j->facts;
	bool is_known;
	int r = 0;

	for (size_t i = 0; r == 0 && i < record_field_count; i++) {
		const struct record_field *field = &record_fields[i];
		void *at = record_field_in_job(field, facts);
		struct value number = {};

		if (!(field->fact & FACT_STATE))
			continue;
		if (field->type == FIELD_STRING) {
			r = state_take_string(place, root, field->key, at);
			continue;
		}
		r = state_take_value(place, root, field->key,
				     at == &facts->uid ? UINT32_MAX : VALUE_MAX, &number);
		*(int64_t *)at = number.is_known ? (int64_t)number.number : -1;
	}
	if (r == 0 && place_member(root, "number"))
		r = state_take_string(place, root, "number", &facts->id);
	if (r == 0)
		r = state_take_string(place, root, "cpus_allowed", &facts->cpus_allowed);
	if (r == 0)
		r = state_take_string(place, root, "gpus", &facts->gpus);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(state_numbers); i++)
		r = state_take_number(place, root, state_numbers[i].key, INT64_MAX,
				      (uint64_t *)state_number_get(facts, i), &is_known);
	if (r == 0)
		r = state_take_value(place, root, "allocated_cores", VALUE_MAX,
				     &facts->allocated_cores);
	return r < 0 ? r
		     : state_take_value(place, root, "memory_limit", VALUE_MAX,
					&facts->memory_limit);
}

static int take_top(const struct place *place, const json_t *root, struct registry_job *j)
{
	struct value maker = {}, death = {}, lost = {};
	const json_t *id = place_member(root, "top_id");
	int r = id ? state_parse_id(place, "top_id", id, &j->top_id) : 0;

	if (r == 0)
		r = state_take_string(place, root, "top_path", &j->top_path);
	if (r == 0)
		r = state_take_value(place, root, "maker_uid", UINT32_MAX - 1, &maker);
	if (r == 0)
		r = state_take_value(place, root, "last_death_ns", VALUE_MAX, &death);
	if (r == 0)
		r = state_take_value(place, root, "lost_groups", VALUE_MAX, &lost);
	if (r == 0)
		r = place_take_boolean(place, root, "is_remade", &j->is_remade);
	j->is_delegated = maker.is_known; /* of one from before it was told */
	if (r == 0)
		r = place_take_boolean(place, root, "is_delegated", &j->is_delegated);
	if (r == 0)
		r = place_take_boolean(place, root, "is_announced", &j->is_announced);
	if (r == 0)
		r = place_take_boolean(place, root, "is_reported", &j->is_reported);
	j->facts->group_id = j->top_id;
	j->lost_groups = lost.number;
	j->maker_uid = maker.is_known ? (uint32_t)maker.number : UINT32_MAX;
	j->last_death_ns = death.is_known ? death.number : 0;
	return r;
}

static int take_folded(const struct place *place, const json_t *root, struct registry_job *j)
{
	return take_values(place, root, "values", j->folded);
}

static int take_base(const struct place *place, const json_t *root, struct registry_job *j)
{
	const json_t *base = json_object_get(root, "base");

	if (json_is_object(base) && json_object_size(base) == 0)
		return 0;
	j->base = calloc(METRIC_JOB_COUNT, sizeof(*j->base));
	return j->base ? take_values(place, root, "base", j->base) : -ENOMEM;
}

static int take_shown(const struct place *place, const json_t *root, struct registry_job *j)
{
	if (!json_object_get(root, "shown"))
		return 0;
	j->least = calloc(METRIC_JOB_COUNT, sizeof(*j->least));
	return j->least ? take_values(place, root, "shown", j->least) : -ENOMEM;
}

static int take_pairs(const struct place *place, const json_t *root, const char *key,
		      struct registry_cores *ret)
{
	struct place here = place_below(place, key);
	const json_t *list;
	int r = place_get(place, root, key, JSON_ARRAY, &list);

	if (r < 0 || !list)
		return r;
	if (json_array_size(list) > 2 * STATE_CORES_MAX || json_array_size(list) % 2)
		return place_refuse(place, key, "should be at most %d pairs", STATE_CORES_MAX);
	for (size_t i = 0; r == 0 && i < json_array_size(list); i += 2) {
		uint64_t cpu = 0, on_ns = 0;

		r = state_number_at(&here, list, i, UINT32_MAX, &cpu);
		if (r == 0)
			r = state_number_at(&here, list, i + 1, INT64_MAX, &on_ns);
		if (r == 0)
			r = registry_cores_add(ret, (uint32_t)cpu, on_ns);
	}
	return r;
}

static int take_cores(const struct place *place, const json_t *root, struct registry_job *j)
{
	return take_pairs(place, root, "cores", &j->cores);
}

static int take_ports(const struct place *place, const json_t *root, struct registry_job *j)
{
	return registry_ports_parse(place, root, &j->ports);
}

static int take_parts(const struct place *place, const json_t *root, struct registry_job *j)
{
	return parts_parse(place, root, false, &j->parts);
}

static int take_numbers(const struct place *place, const json_t *root, const char *key,
			uint64_t *ret, size_t count)
{
	struct place here = place_below(place, key);
	const json_t *list;
	int r = place_get(place, root, key, JSON_ARRAY, &list);

	if (r < 0 || !list)
		return r;
	r = state_check_length(&here, list, count);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = state_number_at(&here, list, i, INT64_MAX, &ret[i]);
	return r;
}

static int take_threads(const struct place *place, const json_t *root, struct registry_job *j)
{
	uint64_t busiest[3] = {};
	int r = take_numbers(place, root, "busiest", busiest, ARRAY_SIZE(busiest));

	j->busiest = (struct busiest_threads){ busiest[0], busiest[1], busiest[2] };
	return r;
}

static int take_thermal(const struct place *place, const json_t *root, struct registry_job *j)
{
	return take_numbers(place, root, "thermal", (uint64_t *)(void *)&j->thermal, THERMAL_SUMS);
}

static int take_oom_kills(const struct place *place, const json_t *root, struct registry_job *j)
{
	if (!place_member(root, "oom"))
		return 0;
	j->oom_list = calloc(1, sizeof(*j->oom_list));
	return j->oom_list ? section_take(&oom_section, place, root, j->oom_list) : -ENOMEM;
}

static int take_step(const struct place *place, const json_t *map, struct registry_job *j)
{
	_cleanup_free_ char *id = NULL;
	struct registry_step *step;
	bool is_known;
	size_t before = j->step_count;
	int r = state_check_keys(place, map, step_keys, is_of_step);

	if (r == 0)
		r = state_need_string(place, map, "id", &id);
	if (r < 0)
		return r;
	step = registry_job_step(j, id);
	if (!step)
		return -ENOMEM;
	if (j->step_count == before)
		return place_refuse(place, "id", "is there twice");
	r = state_take_number(place, map, "start_ns", INT64_MAX, &step->start_ns, &is_known);
	if (r == 0)
		r = state_take_number(place, map, "end_ns", INT64_MAX, &step->end_ns, &is_known);
	if (r == 0)
		r = take_values(place, map, "values", step->folded);
	step->lacks_ranks = !json_object_get(map, "ranks"); /* from before they were told apart */
	if (r == 0)
		r = take_pairs(place, map, "ranks", &step->ranks);
	return r < 0 ? r : parts_parse(place, map, true, &step->parts);
}

static int take_steps(const struct place *place, const json_t *root, struct registry_job *j)
{
	const json_t *list;
	int r = state_need_list(place, root, "steps", j->registry->options.steps_max, &list);

	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		struct place here = place_item(place, "steps", i);

		r = take_step(&here, json_array_get(list, i), j);
	}
	return r;
}

static int compare_cgroups(const void *a, const void *b)
{
	const struct registry_cgroup_name *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static int take_cgroup(const struct place *place, const json_t *list,
		       struct registry_cgroup_name *ret)
{
	uint64_t members = 0;
	int r = state_check_length(place, list, 2);

	if (r == 0)
		r = state_parse_id(place, "", json_array_get(list, 0), &ret->id);
	if (r == 0)
		r = state_number_at(place, list, 1, MEMBERS_MAX, &members);
	if (r == 0 && members == 0)
		r = place_refuse(place, "", "belongs to no job");
	if (r == 0)
		ret->members = (uint32_t)members;
	return r;
}

static int take_timeline(const struct place *place, const json_t *root, struct registry_job *j)
{
	struct place here = place_below(place, "timeline");
	const json_t *timeline;
	int r = place_get(place, root, "timeline", JSON_OBJECT, &timeline);

	return r < 0 || !timeline ? r : timeline_restore(&here, timeline, &j->timeline);
}

static size_t power_above(size_t count)
{
	size_t room = 1;

	while (room <= count)
		room *= 2;
	return room;
}

static int take_cgroups(const struct place *place, const json_t *root, struct registry_job *j)
{
	const json_t *list;
	int r = state_need_list(place, root, "cgroups", STATE_CGROUPS_MAX, &list);

	if (r < 0)
		return r;
	j->pending = calloc(power_above(json_array_size(list)), sizeof(*j->pending));
	if (!j->pending)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		struct place here = place_item(place, "cgroups", i);

		r = take_cgroup(&here, json_array_get(list, i), &j->pending[j->pending_count++]);
	}
	if (r < 0)
		return r;
	qsort(j->pending, j->pending_count, sizeof(*j->pending), compare_cgroups);
	for (size_t i = 1; i < j->pending_count; i++) {
		if (j->pending[i].id == j->pending[i - 1].id)
			return place_refuse(place, "cgroups", "names one twice");
	}
	return 0;
}

/* ---- the whole ---- */

static int check_schema(const json_t *root, struct error *err)
{
	const json_t *schema = json_is_object(root) ? place_member(root, "schema") : NULL;

	if (!json_is_string(schema) || strcmp(json_string_value(schema), STATE_SCHEMA) != 0)
		return error_set(err, -EINVAL, "this is no state of a job: the schema is not '%s'",
				 STATE_SCHEMA);
	return 0;
}

static int (*const takers[])(const struct place *place, const json_t *root,
			     struct registry_job *j) = {
	take_facts,
	take_top,
	take_folded,
	take_base,
	take_shown,
	take_cores,
	take_threads,
	take_thermal,
	take_oom_kills,
	take_ports,
	registry_gaps_parse,
	registry_losses_parse,
	take_parts,
	take_steps,
	take_timeline,
	take_cgroups,
	registry_traces_parse,
};

static int read_job(struct registry *r, const json_t *root, struct saved *s, struct error *err)
{
	struct place place = { .err = err };
	_cleanup_free_ char *manager = NULL, *id = NULL;
	int code = check_schema(root, err);

	if (code == 0)
		code = state_check_keys(&place, root, job_keys, is_fact);
	if (code == 0)
		code = state_need_string(&place, root, "manager", &manager);
	if (code == 0)
		code = state_need_string(&place, root, "id", &id);
	if (code == 0)
		code = state_need_string(&place, root, "boot_id", &s->boot_id);
	if (code < 0)
		return code;
	s->job = registry_job_new(r, manager, id);
	if (!s->job)
		return -ENOMEM;
	for (size_t i = 0; code == 0 && i < ARRAY_SIZE(takers); i++)
		code = takers[i](&place, root, s->job);
	return code < 0 ? code : state_take_rows(&place, root, s->job, &s->mounts);
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
	int code = state_mounts_place(&s->mounts, j);

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
