/* SPDX-License-Identifier: MIT */
/* What a job's folded cgroups did, written down. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/macro.h"
#include "jobs/registry_internal.h"
#include "jobs/registry_state.h"
#include "model/record_field.h"
#include "model/sections.h"
#include "model/timeline_json.h"
#include "basic/utf8.h"

static const char *const histogram_names[] = {
	[HISTOGRAM_SIZE] = "size", [HISTOGRAM_LATENCY] = "latency"
};

const char *state_histogram_name(enum histogram_kind kind)
{
	return histogram_names[kind];
}

static void put_string(struct document *d, const char *key, const char *text)
{
	if (!text)
		return;
	document_put_string(d, key, text);
}

/* Ids use all 64 bits, which readers of JSON do not. */
static void put_id(struct document *d, uint64_t id)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, id);
	document_string(d, text);
}

/* Each in its stored unit, since what is read back is to be the same. */
static void put_values(struct document *d, const char *key, const struct value *values)
{
	document_begin_flat_map_of(d, key);
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);
		char name[96];

		if (!values[i].is_known)
			continue;
		snprintf(name, sizeof(name), "%s.%s", metric->section, metric->key);
		document_put_unsigned(d, name, MIN(values[i].number, (uint64_t)INT64_MAX));
	}
	document_end_map(d);
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
	put_string(d, "cpus_allowed", facts->cpus_allowed);
	put_string(d, "gpus", facts->gpus);
	for (size_t i = 0; i < state_number_count; i++) {
		uint64_t number = *state_number_get(facts, i);

		if (number)
			document_put_unsigned(d, state_numbers[i].key, number);
	}
	if (facts->allocated_cores.is_known)
		document_put_unsigned(d, "allocated_cores", facts->allocated_cores.number);
	if (facts->memory_limit.is_known)
		document_put_unsigned(d, "memory_limit", facts->memory_limit.number);
}

static bool is_text(const char *text)
{
	_cleanup_free_ char *repaired = utf8_repair(text);

	return repaired && strcmp(repaired, text) == 0;
}

static void put_top(struct document *d, const struct registry_job *j)
{
	if (j->top_id) {
		document_key(d, "top_id");
		put_id(d, j->top_id);
	}
	if (j->top_path && is_text(j->top_path)) /* else the id has to do */
		put_string(d, "top_path", j->top_path);
	if (j->maker_uid != UINT32_MAX)
		document_put_unsigned(d, "maker_uid", j->maker_uid);
	if (j->lost_groups)
		document_put_unsigned(d, "lost_groups", j->lost_groups);
	document_put_boolean(d, "is_delegated", j->is_delegated);
	document_put_boolean(d, "is_announced", j->is_announced);
	document_put_boolean(d, "is_remade", j->is_remade);
	if (j->is_reported)
		document_put_boolean(d, "is_reported", true);
}

/* A list of two numbers for each CPU, or task. */
static void put_pairs(struct document *d, const char *key, const struct registry_cores *c)
{
	document_begin_flat_list_of(d, key);
	for (size_t i = 0; i < c->count; i++) {
		document_unsigned(d, c->items[i].key);
		document_unsigned(d, MIN(c->items[i].on_ns, (uint64_t)INT64_MAX));
	}
	document_end_list(d);
}

static void put_numbers(struct document *d, const char *key, const uint64_t *numbers, size_t count)
{
	document_begin_flat_list_of(d, key);
	for (size_t i = 0; i < count; i++)
		document_unsigned(d, MIN(numbers[i], (uint64_t)INT64_MAX));
	document_end_list(d);
}

/* Lists of their numbers, in the order of their structs. */
static void put_sums(struct document *d, const struct registry_job *j)
{
	const uint64_t busiest[] = { j->busiest.count, j->busiest.sum_ns, j->busiest.greatest_ns };

	if (j->busiest.count)
		put_numbers(d, "busiest", busiest, ARRAY_SIZE(busiest));
	if (j->thermal.samples)
		put_numbers(d, "thermal", (const uint64_t *)(const void *)&j->thermal,
			    THERMAL_SUMS);
}

static void put_oom_kills(struct document *d, const struct registry_job *j)
{
	if (!j->oom_list)
		return;
	document_key(d, "oom");
	section_format(&oom_section, j->oom_list, d);
}

/* A job of a thousand steps on all CPUs would have a text that nobody writes. */
static void put_steps(struct document *d, const struct registry_job *j)
{
	size_t left = STATE_RANKS_MAX;

	document_begin_list_of(d, "steps");
	for (size_t i = 0; i < j->step_count; i++) {
		const struct registry_step *step = j->steps[i];

		document_begin_flat_map(d);
		put_string(d, "id", step->id);
		document_put_unsigned(d, "start_ns", step->start_ns);
		document_put_unsigned(d, "end_ns", step->end_ns);
		put_values(d, "values", step->folded);
		if (!step->lacks_ranks && step->ranks.count <= left) {
			put_pairs(d, "ranks", &step->ranks);
			left -= step->ranks.count;
		}
		parts_format(&step->parts, true, COUNTED_ALL, d);
		document_end_map(d);
	}
	document_end_list(d);
}

static void put_mount(struct document *d, const struct snapshot_mount *m)
{
	document_begin_flat_map(d);
	if (m->kind != ROW_MOUNT)
		put_string(d, "kind", row_kind_name(m->kind));
	put_string(d, "name", m->name);
	put_string(d, "fstype", m->fstype);
	put_string(d, "source", m->source);
	if (m->aliases[0]) {
		document_begin_flat_list_of(d, "aliases");
		for (size_t i = 0; i < MOUNT_ALIASES_MAX && m->aliases[i]; i++)
			document_string(d, m->aliases[i]);
		document_end_list(d);
	}
	document_end_map(d);
}

/* Rows name a mount by where it stands in this list. */
static void put_mounts(struct document *d, const struct registry_job *j)
{
	document_begin_list_of(d, "mounts");
	for (size_t i = 0; i < j->mount_count; i++)
		put_mount(d, &j->registry->mounts[j->mounts[i]].mount);
	document_end_list(d);
}

static uint64_t position_of(const struct registry_job *j, uint32_t slot)
{
	size_t i = 0;

	while (i < j->mount_count && j->mounts[i] != slot)
		i++;
	return i;
}

static void put_rows(struct document *d, const struct registry_job *j)
{
	document_begin_list_of(d, "rows");
	for (size_t i = 0; i < j->row_count; i++) {
		const struct registry_row *row = &j->rows[i];

		document_begin_flat_list(d);
		document_unsigned(d, position_of(j, row->mount));
		document_string(d, file_op_name((enum file_op)row->op));
		document_string(d, file_interface_name((enum file_interface)row->interface));
		document_unsigned(d, row->counts.calls);
		document_unsigned(d, row->counts.errors);
		document_unsigned(d, row->counts.ns);
		document_unsigned(d, row->counts.amount);
		document_end_list(d);
	}
	document_end_list(d);
}

static void put_buckets(struct document *d, const struct registry_job *j)
{
	document_begin_list_of(d, "histograms");
	for (size_t i = 0; i < j->bucket_count; i++) {
		const struct registry_bucket *b = &j->buckets[i];

		document_begin_flat_list(d);
		document_unsigned(d, position_of(j, b->mount));
		document_string(d, file_op_name((enum file_op)b->op));
		document_string(d, histogram_names[b->kind]);
		document_unsigned(d, b->bucket);
		document_unsigned(d, b->count);
		document_end_list(d);
	}
	document_end_list(d);
}

static void put_cgroups(struct document *d, const struct registry_job *j)
{
	document_begin_list_of(d, "cgroups");
	for (size_t i = 0; i < j->pending_count; i++) {
		document_begin_flat_list(d);
		put_id(d, j->pending[i].id);
		document_unsigned(d, j->pending[i].members);
		document_end_list(d);
	}
	document_end_list(d);
}

static int put_timeline(struct document *d, const struct registry_job *j)
{
	if (!timeline_is_known(&j->timeline))
		return 0;
	document_key(d, "timeline");
	return timeline_save(&j->timeline, d);
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
	document_put_unsigned(d, "last_death_ns", j->last_death_ns);
	put_values(d, "values", j->folded);
	put_values(d, "base", j->base ? j->base : nothing);
	if (shown_of(j))
		put_values(d, "shown", shown_of(j));
	if (j->cores.count)
		put_pairs(d, "cores", &j->cores);
	put_sums(d, j);
	put_oom_kills(d, j);
	registry_ports_format(&j->ports, d);
	registry_gaps_format(j, d);
	registry_losses_format(j, d);
	parts_format(&j->parts, false, registry_counted(j->registry), d);
	registry_traces_format(j, d);
	put_steps(d, j);
	put_mounts(d, j);
	put_rows(d, j);
	put_buckets(d, j);
	put_cgroups(d, j);
	r = put_timeline(d, j);
	document_end_map(d);
	return r;
}

static void document_closep(struct document **d)
{
	document_free(*d);
}

int registry_format_job(const struct registry_job *j, char **ret)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_fclose_ FILE *out = NULL;
	_cleanup_(document_closep) struct document *d = NULL;
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
