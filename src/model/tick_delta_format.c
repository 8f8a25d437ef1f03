/* SPDX-License-Identifier: MIT */
#include "tick_delta.h"

#include <stdio.h>
#include <string.h>

#include "document.h"
#include "file_op.h"
#include "macro.h"
#include "record_field.h"
#include "section.h"
#include "sections.h"
#include "text.h"
#include "tick.h"

const char *tick_delta_metric_name(enum metric_id id, char ret[TICK_DELTA_NAME_MAX])
{
	const struct metric *metric = metric_get(id);

	snprintf(ret, TICK_DELTA_NAME_MAX, "%s.%s", metric->section, metric->key);
	return ret;
}

/* ---- names ---- */

static void format_metric_names(const char *key, size_t first, size_t end, struct document *d)
{
	char name[TICK_DELTA_NAME_MAX];

	document_key(d, key);
	document_begin_flat_list(d);
	for (size_t id = first; id < end; id++)
		document_string(d, tick_delta_metric_name((enum metric_id)id, name));
	document_end_list(d);
}

static void format_names(const char *key, size_t count, const char *(*name)(size_t i), struct document *d)
{
	document_key(d, key);
	document_begin_flat_list(d);
	for (size_t i = 0; i < count; i++)
		document_string(d, name(i));
	document_end_list(d);
}

static const char *op_name(size_t i)
{
	return file_op_name((enum file_op)i);
}

static const char *way_name(size_t i)
{
	return file_way_name((enum file_way)i);
}

static const char *socket_name(size_t i)
{
	return socket_kind_name((enum socket_kind)i);
}

static void format_field_names(struct document *d)
{
	char name[TICK_DELTA_NAME_MAX];

	document_key(d, "fields");
	document_begin_flat_list(d);
	for (size_t i = 0; i < record_field_count; i++) {
		const struct record_field *field = &record_fields[i];

		if (!record_field_is_value(field))
			continue;
		snprintf(name, sizeof(name), "%s.%s", field->section, field->key);
		document_string(d, name);
	}
	document_end_list(d);
}

static void format_mount(const struct snapshot_mount *mount, struct document *d)
{
	document_begin_flat_map(d);
	document_key(d, "mount");
	document_string(d, mount->name);
	document_key(d, "fstype");
	document_string(d, mount->fstype);
	document_key(d, "source");
	document_string(d, mount->source);
	document_key(d, "aliases");
	document_begin_flat_list(d);
	for (size_t i = 0; i < MOUNT_ALIASES_MAX && mount->aliases[i]; i++)
		document_string(d, mount->aliases[i]);
	document_end_list(d);
	document_end_map(d);
}

static void format_mounts(const struct snapshot *s, struct document *d)
{
	document_key(d, "mounts");
	if (!s->has_mounts) {
		document_null(d);
		return;
	}
	document_begin_list(d);
	for (size_t i = 0; i < s->mount_count; i++)
		format_mount(&s->mounts[i], d);
	document_end_list(d);
}

void tick_delta_format_head(const struct snapshot *s, const struct snapshot *since, const char *node,
			    struct document *d)
{
	document_key(d, "schema");
	document_string(d, TICK_DELTA_SCHEMA);
	document_key(d, "time");
	document_time(d, s->real_ns);
	document_key(d, "boot_ns");
	document_unsigned(d, s->boot_ns);
	document_key(d, "took_ns");
	document_unsigned(d, s->took_ns);
	document_key(d, "since_ns");
	if (since)
		document_unsigned(d, since->boot_ns);
	else
		document_null(d);
	document_key(d, "node");
	document_string(d, node);
	document_key(d, "has_seconds");
	document_boolean(d, s->has_seconds);
	format_metric_names("values", 0, METRIC_JOB_COUNT, d);
	format_field_names(d);
	format_names("ops", OP_COUNT, op_name, d);
	format_names("ways", WAY_COUNT, way_name, d);
	format_names("sockets", SOCKET_KIND_COUNT, socket_name, d);
	format_metric_names("network", METRIC_NETWORK_FIRST, METRIC_NETWORK_ROUND_TRIP_TIMES + 1, d);
	format_mounts(s, d);
}

/* ---- jobs ---- */

static void add_string(struct document *d, const char *key, const char *text)
{
	if (!text)
		return;
	document_key(d, key);
	document_string(d, text);
}

static void add_number(struct document *d, const char *key, uint64_t number)
{
	if (!number)
		return;
	document_key(d, key);
	document_unsigned(d, number);
}

static void format_facts(const struct job *job, bool is_live, struct document *d)
{
	const char *name = job->name ? job->name : job->label;

	add_string(d, "name", name);
	add_string(d, "command", name ? NULL : job->command);
	add_string(d, "user", job->user);
	if (job->uid >= 0) {
		document_key(d, "uid");
		document_signed(d, job->uid);
	}
	add_string(d, "account", job->account);
	add_string(d, "partition", job->partition);
	add_string(d, "qos", job->qos);
	add_string(d, "cpus_allowed", job->cpus_allowed);
	add_number(d, "start_ns", job->start_ns);
	add_number(d, "end_ns", is_live ? 0 : job->end_ns);
	add_number(d, "measured_from_ns", job->measured_from_ns);
}

static uint64_t elapsed_ns(const struct snapshot *s, const struct snapshot_job *job)
{
	uint64_t end_ns = job->is_live ? s->boot_ns : job->job->end_boot_ns;

	return job->job->start_boot_ns && end_ns > job->job->start_boot_ns ? end_ns - job->job->start_boot_ns : 0;
}

static bool is_same(struct value a, struct value b)
{
	return a.is_known == b.is_known && (!a.is_known || a.number == b.number);
}

/* Place and number of each that is another one. */
static void format_values(const struct value *now, const struct value *before, struct document *d)
{
	document_key(d, "values");
	document_begin_flat_list(d);
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		if (is_same(now[i], before ? before[i] : (struct value){}))
			continue;
		document_unsigned(d, i);
		if (now[i].is_known)
			document_unsigned(d, now[i].number);
		else
			document_null(d);
	}
	document_end_list(d);
}

static void format_fields(const struct snapshot_job *job, struct document *d)
{
	const struct record r = {
		.cores = job->cores, .ranks = job->ranks, .threads = job->threads, .thermal = job->thermal
	};
	size_t place = 0;

	document_key(d, "fields");
	document_begin_flat_list(d);
	for (size_t i = 0; i < record_field_count; i++) {
		const struct value *value = record_field_get(&record_fields[i], &r);

		if (!record_field_is_value(&record_fields[i]))
			continue;
		if (value->is_known) {
			document_unsigned(d, place);
			document_unsigned(d, value->number);
		}
		place++;
	}
	document_end_list(d);
}

static void format_rows(const struct snapshot_job *job, struct document *d)
{
	document_key(d, "rows");
	document_begin_flat_list(d);
	for (size_t i = 0; i < job->row_count; i++) {
		const struct snapshot_row *row = &job->rows[i];
		const uint64_t numbers[] = { row->mount,	 row->op,	     row->way,	     row->counts.calls,
					     row->counts.bytes, row->counts.errors, row->counts.ns, row->counts.not_found };

		for (size_t n = 0; n < ARRAY_SIZE(numbers); n++)
			document_unsigned(d, numbers[n]);
	}
	document_end_list(d);
}

/* @part: a kind of socket, or a bucket. */
static void format_of_network(size_t part, enum metric_id id, uint64_t number, struct document *d)
{
	document_unsigned(d, part);
	document_unsigned(d, id - METRIC_NETWORK_FIRST);
	document_unsigned(d, number);
}

/* That there are details is told by the number of segments, which stands there then whatever it is. */
static void format_network(const struct network *n, struct document *d)
{
	document_key(d, "network");
	if (!n->is_known) {
		document_boolean(d, false);
		return;
	}
	document_begin_flat_list(d);
	document_boolean(d, n->has_connections);
	for (size_t kind = 0; kind < SOCKET_KIND_COUNT; kind++) {
		for (size_t id = METRIC_NETWORK_FIRST; id < METRIC_NETWORK_END; id++) {
			uint64_t number = network_number(n, (enum socket_kind)kind, (enum metric_id)id);

			if (number || (n->has_details && kind == SOCKET_TCP && id == METRIC_NETWORK_SEGMENTS))
				format_of_network(kind, (enum metric_id)id, number, d);
		}
	}
	for (size_t i = 0; n->has_details && i < HISTOGRAM_BUCKETS; i++) {
		if (n->round_trip_times.counts[i])
			format_of_network(i, METRIC_NETWORK_ROUND_TRIP_TIMES, n->round_trip_times.counts[i], d);
	}
	document_end_list(d);
}

/* As in a record. */
static void format_block(const struct block *b, struct document *d)
{
	document_key(d, "block");
	if (b->is_known)
		block_section.format(b, d);
	else
		document_boolean(d, false);
}

static bool has_network_of(const struct network *n, const struct network *before)
{
	return n->is_known == before->is_known && n->has_connections == before->has_connections &&
	       n->has_details == before->has_details && n->least_round_trip_ns == before->least_round_trip_ns &&
	       memcmp(n->numbers, before->numbers, sizeof(n->numbers)) == 0 &&
	       memcmp(&n->round_trip_times, &before->round_trip_times, sizeof(n->round_trip_times)) == 0;
}

static void format_step(const struct snapshot_step *step, const struct snapshot_step *before, struct document *d)
{
	document_begin_flat_map(d);
	document_key(d, "id");
	document_string(d, step->id);
	if (before) {
		document_key(d, "again");
		document_boolean(d, true);
	}
	add_number(d, "start_ns", step->start_ns);
	add_number(d, "end_ns", step->end_ns);
	format_values(step->values, before ? before->values : NULL, d);
	if (!before || !has_network_of(network_of(&step->parts), network_of(&before->parts)))
		format_network(network_of(&step->parts), d);
	document_end_map(d);
}

static void format_steps(const struct snapshot_job *job, const struct snapshot_job *before, struct document *d)
{
	document_key(d, "steps");
	document_begin_list(d);
	for (size_t i = 0; i < job->step_count; i++) {
		const struct snapshot_step *step = &job->steps[i],
					   *earlier = before && i < before->step_count ? &before->steps[i] : NULL;

		format_step(step, earlier && text_is_equal(earlier->id, step->id) ? earlier : NULL, d);
	}
	document_end_list(d);
}

bool tick_delta_has_mounts_of(const struct snapshot *s, const struct snapshot *since)
{
	if (!since || s->mount_count != since->mount_count || s->has_mounts != since->has_mounts ||
	    s->has_seconds != since->has_seconds)
		return false;
	for (size_t i = 0; i < s->mount_count; i++) {
		if (s->mounts[i].kind != since->mounts[i].kind ||
		    !text_is_equal(s->mounts[i].name, since->mounts[i].name) ||
		    !text_is_equal(s->mounts[i].fstype, since->mounts[i].fstype))
			return false;
	}
	return true;
}

static bool has_rows_of(const struct snapshot_job *job, const struct snapshot_job *before)
{
	return job->row_count == before->row_count &&
	       (job->rows == before->rows || !job->row_count ||
		memcmp(job->rows, before->rows, job->row_count * sizeof(*job->rows)) == 0);
}

static bool has_fields_of(const struct snapshot_job *job, const struct snapshot_job *before)
{
	return memcmp(&job->cores, &before->cores, sizeof(job->cores)) == 0 &&
	       memcmp(&job->ranks, &before->ranks, sizeof(job->ranks)) == 0 &&
	       memcmp(&job->threads, &before->threads, sizeof(job->threads)) == 0 &&
	       memcmp(&job->thermal, &before->thermal, sizeof(job->thermal)) == 0;
}

/* The job's facts are made anew when they change, as long as a snapshot holds them. */
static bool has_facts_of(const struct snapshot_job *job, const struct snapshot_job *before)
{
	return job->job == before->job && job->is_live == before->is_live;
}

void tick_delta_format_job(const struct snapshot *s, const struct snapshot_job *job, const struct snapshot_job *before,
			   bool has_its_mounts, struct document *d)
{
	document_begin_map(d);
	add_string(d, "manager", job->job->manager);
	add_string(d, "id", job->job->id);
	if (before) {
		document_key(d, "again");
		document_boolean(d, true);
	}
	if (!job->is_live) {
		document_key(d, "ended");
		document_boolean(d, true);
	}
	if (!before || !has_facts_of(job, before)) {
		document_key(d, "facts");
		document_begin_flat_map(d);
		format_facts(job->job, job->is_live, d);
		document_end_map(d);
	}
	add_number(d, "elapsed_ns", elapsed_ns(s, job));
	format_values(job->values, before ? before->values : NULL, d);
	if (!before || !has_fields_of(job, before))
		format_fields(job, d);
	if (s->has_mounts && (!before || !has_its_mounts || !has_rows_of(job, before)))
		format_rows(job, d);
	if (!before || !has_network_of(network_of(&job->parts), network_of(&before->parts)))
		format_network(network_of(&job->parts), d);
	if (!before || !block_is_equal(block_of(&job->parts), block_of(&before->parts)))
		format_block(block_of(&job->parts), d);
	if (job->step_count)
		format_steps(job, before, d);
	document_end_map(d);
}
