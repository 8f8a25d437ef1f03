/* SPDX-License-Identifier: MIT */
#include "export/exposition.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/accept.h"
#include "basic/cleanup.h"
#include "export/exposition_parts.h"
#include "http/http.h"
#include "basic/macro.h"
#include "model/sections/energy.h"
#include "model/sections/job_gpus.h"
#include "model/sections/trace.h"
#include "node/job_record.h"

/* Younger jobs get _created lines: a scraper may not have seen them before.  For all jobs the page
 * would be twice as long. */
#define CREATED_NS UINT64_C(600000000000)

struct exposition {
	struct exposition_options options;
	struct shown_mounts mounts;
	struct row_order order;
	/* The position in the page: the family goes from metric @first to before @last... */
	size_t first, last;
	bool has_heading, is_ended;
	/* ... and in it, next is this metric of this job from this row on; or this sample. */
	size_t job, id, row, sample;
	struct line line;
};

enum exposition_format exposition_choose(const char *accept)
{
	unsigned int openmetrics = accept_exact_type(accept, "application/openmetrics-text",
						     "version", "1.0.0");

	/* who only says that anything will do gets what everybody can read */
	return openmetrics && openmetrics >= accept_type(accept, "text/plain", "version", "0.0.4")
		       ? EXPOSITION_OPENMETRICS
		       : EXPOSITION_TEXT;
}

const char *exposition_type(enum exposition_format format)
{
	return format == EXPOSITION_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- jobs ---- */

static bool is_same_job(const struct snapshot_job *a, const struct snapshot_job *b)
{
	return strcmp(a->job->id, b->job->id) == 0 && strcmp(a->job->manager, b->job->manager) == 0;
}

/* A page with the same series twice is thrown away whole; so, of several jobs of one name (one that
 * was put back into the queue) the live one is shown, else the last. */
static bool is_overshadowed(const struct snapshot *s, size_t index)
{
	const struct snapshot_job *job = &s->jobs[index];

	for (size_t i = index + 1; i < s->job_count && is_same_job(job, &s->jobs[i]); i++) {
		if (s->jobs[i].is_live || !job->is_live)
			return true;
	}
	for (size_t i = index; i > 0 && is_same_job(job, &s->jobs[i - 1]); i--) {
		if (s->jobs[i - 1].is_live && !job->is_live)
			return true;
	}
	return false;
}

static bool is_shown(const struct exposition *e, size_t index)
{
	const struct exposition_options *o = &e->options;

	return (!o->may_see || o->may_see(o->context, &o->snapshot->jobs[index])) &&
	       !is_overshadowed(o->snapshot, index);
}

static void begin_sample(struct exposition *e, const struct metric *metric)
{
	if (!e->has_heading)
		line_put_family(&e->line, metric);
	e->has_heading = true;
	line_begin(&e->line, metric);
}

static void begin_job_sample(struct exposition *e, const struct metric *metric,
			     const struct job *job)
{
	begin_sample(e, metric);
	line_put_label(&e->line, "manager", job->manager);
	line_put_label(&e->line, "jobid", job->id);
}

/* A sample of the job alone. */
static bool put_value(struct exposition *e, const struct metric *metric,
		      const struct snapshot_job *job, const struct value value)
{
	if (!value.is_known)
		return false;
	begin_job_sample(e, metric, job->job);
	line_end(&e->line, metric, value.number);
	return true;
}

static bool put_job_value(struct exposition *e, const struct metric *metric,
			  const struct snapshot_job *job)
{
	return put_value(e, metric, job, job->values[metric_id_of(metric)]);
}

static bool put_job_energy(struct exposition *e, const struct metric *metric,
			   const struct snapshot_job *job)
{
	const struct energy *energy = energy_of_parts(&job->parts);
	const struct value *value = &job->values[metric_id_of(metric)];

	if (!value->is_known || !energy->count)
		return false;
	begin_job_sample(e, metric, job->job);
	line_put_label(&e->line, "level", energy_level_name(energy_level(energy)));
	line_put_label(&e->line, "quality", energy_quality_name(energy_quality(energy)));
	line_end(&e->line, metric, value->number);
	return true;
}

static bool put_job_info(struct exposition *e, const struct metric *metric,
			 const struct snapshot_job *of)
{
	const struct job *job = of->job;
	char uid[24] = "";

	if (job->uid >= 0)
		snprintf(uid, sizeof(uid), "%" PRId64, job->uid);
	begin_job_sample(e, metric, job);
	line_put_label(&e->line, "user", job->user ? job->user : uid);
	line_put_label(&e->line, "account", job->account);
	line_put_label(&e->line, "partition", job->partition);
	line_put_label(&e->line, "name", job->name);
	line_end(&e->line, metric, 1);
	return true;
}

static bool put_job_time(struct exposition *e, const struct metric *metric,
			 const struct snapshot_job *job)
{
	const enum metric_id id = metric_id_of(metric);
	uint64_t ns = job->is_live ? 0 : job->job->end_ns;

	if (id == METRIC_JOB_START)
		ns = job->job->start_ns;
	else if (id == METRIC_JOB_ELAPSED)
		ns = snapshot_job_elapsed(e->options.snapshot, job);
	return put_value(e, metric, job, (struct value){ .number = ns, .is_known = ns != 0 });
}

/* Of a job that has ended nothing is known now. */
static bool put_job_now(struct exposition *e, const struct metric *metric,
			const struct snapshot_job *job)
{
	return put_value(e, metric, job, thermal_now_value(&job->now, metric_id_of(metric)));
}

static bool knows_rows(const struct exposition *e, const struct metric *metric)
{
	const struct snapshot *s = e->options.snapshot;

	return s->has_mounts && metric->kind != KIND_HISTOGRAM &&
	       (metric->unit != UNIT_SECONDS || s->has_seconds);
}

static bool put_job_row(struct exposition *e, const struct metric *metric,
			const struct snapshot_job *job)
{
	const struct snapshot_row *row;
	uint64_t number;

	if (!knows_rows(e, metric) ||
	    !row_order_next(&e->order, &e->mounts, metric_id_of(metric), &e->row, &row, &number))
		return false;
	begin_job_sample(e, metric, job->job);
	line_put_label(&e->line, "mount", shown_mounts_name(&e->mounts, row->mount));
	line_put_label(&e->line, "fstype", e->options.snapshot->mounts[row->mount].fstype);
	if (metric->scope == SCOPE_MOUNT_OP)
		line_put_label(&e->line, "op", file_op_name((enum file_op)row->op));
	if (metric->scope == SCOPE_MOUNT_INTERFACE)
		line_put_label(&e->line, "interface",
			       file_interface_name((enum file_interface)row->interface));
	line_end(&e->line, metric, number);
	return true;
}

/* The next kind of socket that was used. */
static bool put_job_sockets(struct exposition *e, const struct metric *metric,
			    const struct snapshot_job *job)
{
	const struct network *n = network_of(&job->parts);

	while (e->row < SOCKET_KIND_COUNT &&
	       !(network_has_kind(n, (enum socket_kind)e->row) &&
		 network_takes((enum socket_kind)e->row, metric_id_of(metric))))
		e->row++;
	if (metric->kind == KIND_HISTOGRAM || !network_knows(n, metric_id_of(metric)) ||
	    e->row == SOCKET_KIND_COUNT)
		return false;
	begin_job_sample(e, metric, job->job);
	line_put_label(&e->line, "type", socket_kind_name((enum socket_kind)e->row));
	line_end(&e->line, metric,
		 network_number(n, (enum socket_kind)e->row, metric_id_of(metric)));
	e->row++;
	return true;
}

/* The next device on which there was such an operation. */
static bool put_job_devices(struct exposition *e, const struct metric *metric,
			    const struct snapshot_job *job)
{
	const struct block *b = block_of(&job->parts);
	const struct block_device *device;

	while (e->row < b->count && !block_has(&b->items[e->row], metric_id_of(metric)))
		e->row++;
	if (metric->kind == KIND_HISTOGRAM || !b->is_known || e->row >= b->count)
		return false;
	device = &b->items[e->row++];
	begin_job_sample(e, metric, job->job);
	line_put_label(&e->line, "device", device->name);
	line_end(&e->line, metric, block_number(device, metric_id_of(metric)));
	return true;
}

/* The next component that energy went through; entries of one differ in their source. */
static bool put_job_components(struct exposition *e, const struct metric *metric,
			       const struct snapshot_job *job)
{
	const struct energy *energy = energy_of_parts(&job->parts);
	const struct energy_entry *entry;
	uint64_t uj;

	if (!energy_has_components(energy))
		return false;
	while (e->row < energy->count && !energy_of_component(energy, e->row, &uj))
		e->row++;
	if (e->row >= energy->count)
		return false;
	entry = &energy->items[e->row++];
	begin_job_sample(e, metric, job->job);
	line_put_label(&e->line, "component", energy_part_name(entry->part));
	line_put_label(&e->line, "quality", energy_quality_name(entry->quality));
	line_end(&e->line, metric, uj);
	return true;
}

/* The next function that was traced. */
static bool put_job_functions(struct exposition *e, const struct metric *metric,
			      const struct snapshot_job *job)
{
	const struct traced_calls *calls = traced_calls_of_parts(&job->parts);
	const struct traced_function *function;

	if (e->row >= calls->count)
		return false;
	function = &calls->items[e->row++];
	begin_job_sample(e, metric, job->job);
	line_put_label(&e->line, "set", function->set);
	line_put_label(&e->line, "function", function->function);
	line_end(&e->line, metric, traced_number(function, metric_id_of(metric)));
	return true;
}

/* The next GPU that the job held, of which the number is known. */
static bool put_job_gpus(struct exposition *e, const struct metric *metric,
			 const struct snapshot_job *job)
{
	const struct job_gpus *gpus = job_gpus_of_parts(&job->parts);
	const bool is_info = metric->scope == SCOPE_JOB_GPU;
	const struct job_gpu *gpu;
	char card[GPU_NAME_SIZE];

	while (!is_info && e->row < gpus->count &&
	       !job_gpu_get(&gpus->items[e->row], metric_id_of(metric)).is_known)
		e->row++;
	if (e->row >= gpus->count)
		return false;
	gpu = &gpus->items[e->row++];
	job_gpu_card(gpu, card);
	begin_job_sample(e, metric, job->job);
	line_put_label(&e->line, "gpu", is_info ? card : gpu->name);
	line_put_label(&e->line, "uuid", gpu->uuid);
	if (is_info)
		line_put_label(&e->line, "mig", job_gpu_instance(gpu));
	line_end(&e->line, metric, is_info ? 1 : job_gpu_get(gpu, metric_id_of(metric)).number);
	return true;
}

static const struct job_scope {
	bool (*put)(struct exposition *e, const struct metric *metric,
		    const struct snapshot_job *job); /* NULL: in records alone */
	bool has_parts; /* several samples of a job, each with a label of its own */
} job_scopes[SCOPE_JOB_COURSE + 1] = {
	[SCOPE_JOB] = { put_job_value },
	[SCOPE_JOB_ENERGY] = { put_job_energy },
	[SCOPE_MOUNT] = { put_job_row, true },
	[SCOPE_MOUNT_OP] = { put_job_row, true },
	[SCOPE_MOUNT_INTERFACE] = { put_job_row, true },
	[SCOPE_SOCKET] = { put_job_sockets, true },
	[SCOPE_DEVICE] = { put_job_devices, true },
	[SCOPE_FUNCTION] = { put_job_functions, true },
	[SCOPE_GPU] = { put_job_gpus, true },
	[SCOPE_JOB_INFO] = { put_job_info },
	[SCOPE_JOB_GPU] = { put_job_gpus, true },
	[SCOPE_JOB_TIME] = { put_job_time },
	[SCOPE_JOB_COMPONENT] = { put_job_components, true },
	[SCOPE_JOB_NOW] = { put_job_now },
};

/* The next sample of a job and a metric; without another one the metric moves on. */
static bool put_job_sample(struct exposition *e, const struct snapshot_job *job)
{
	const struct metric *metric = metric_get((enum metric_id)e->id);
	const struct job_scope *scope = &job_scopes[metric->scope];
	const bool is_put = scope->put(e, metric, job);

	if (is_put && scope->has_parts)
		return true;
	e->row = 0;
	e->id++;
	return is_put;
}

/* 1: there is one; 0: the family has no more. */
static int put_next_of_jobs(struct exposition *e)
{
	const struct snapshot *s = e->options.snapshot;

	for (; s && e->job < s->job_count; e->job++, e->id = e->first) {
		if (!is_shown(e, e->job))
			continue;
		if (row_order_set(&e->order, &e->mounts, &s->jobs[e->job]) < 0)
			return -ENOMEM;
		e->line.created_ns = snapshot_job_elapsed(s, &s->jobs[e->job]) < CREATED_NS
					     ? s->jobs[e->job].job->start_ns
					     : 0;
		while (e->id < e->last) {
			if (put_job_sample(e, &s->jobs[e->job]))
				return 1;
		}
	}
	return 0;
}

/* ---- node and agent ---- */

static int put_next_of_samples(struct exposition *e)
{
	e->line.created_ns = 0;
	while (e->sample < e->options.samples.count) {
		const struct sample *sample = &e->options.samples.items[e->sample++];
		const struct metric *metric = metric_get(sample->id);
		const char *const *names = metric_labels(metric->scope);

		if (sample->id < e->first || sample->id >= e->last)
			continue;
		begin_sample(e, metric);
		for (size_t i = 0; i < SAMPLE_LABELS_MAX && names[i]; i++)
			line_put_label(&e->line, names[i], sample->labels[i]);
		line_end(&e->line, metric, sample->number);
		return 1;
	}
	return 0;
}

/* ---- the page ---- */

static int put_next_of_family(struct exposition *e)
{
	enum metric_scope scope = metric_get((enum metric_id)e->first)->scope;

	if (scope > SCOPE_JOB_COURSE)
		return put_next_of_samples(e);
	return job_scopes[scope].put ? put_next_of_jobs(e) : 0;
}

/* Metrics of one name are one family, and neighbours in the table. */
static void set_family(struct exposition *e, size_t first)
{
	e->first = e->last = e->id = first;
	while (e->last < METRIC_COUNT && strcmp(metric_get((enum metric_id)e->last)->name,
						metric_get((enum metric_id)first)->name) == 0)
		e->last++;
	e->job = e->row = e->sample = 0;
	e->has_heading = false;
}

/* 0, with an empty line: the page has ended. */
static int make_line(struct exposition *e)
{
	e->line.length = e->line.given = 0;
	while (e->first < METRIC_COUNT) {
		int r = put_next_of_family(e);

		if (r != 0)
			return r < 0 ? r : 0;
		set_family(e, e->last);
	}
	if (!e->is_ended && e->options.format == EXPOSITION_OPENMETRICS)
		line_put(&e->line, "# EOF\n");
	e->is_ended = true;
	return 0;
}

ssize_t exposition_next(void *context, char *buffer, size_t size)
{
	struct exposition *e = context;
	size_t used = 0;

	while (used < size) {
		size_t length = MIN(e->line.length - e->line.given, size - used);
		int r = length ? 0 : make_line(e);

		if (r < 0)
			return r;
		if (e->line.length == 0)
			break;
		memcpy(buffer + used, e->line.text + e->line.given, length);
		e->line.given += length;
		used += length;
	}
	return (ssize_t)used;
}

int exposition_new(const struct exposition_options *options, struct exposition **ret)
{
	_cleanup_(exposition_freep) struct exposition *e = calloc(1, sizeof(*e));

	if (!e || shown_mounts_init(&e->mounts, options->snapshot, options->names) < 0)
		return -ENOMEM;
	e->options = *options;
	e->line.format = options->format;
	snprintf(e->line.prefix, sizeof(e->line.prefix), "%.*s_", METRIC_PREFIX_SIZE - 2,
		 options->prefix ? options->prefix : METRIC_PREFIX);
	set_family(e, 0);
	*ret = TAKE_PTR(e);
	return 0;
}

struct exposition *exposition_free(struct exposition *e)
{
	if (!e)
		return NULL;
	if (e->options.done)
		e->options.done(e->options.context);
	samples_clear(&e->options.samples);
	shown_mounts_clear(&e->mounts);
	row_order_clear(&e->order);
	free(e);
	return NULL;
}

void exposition_freep(struct exposition **e)
{
	exposition_free(*e);
}

static void free_context(void *context)
{
	exposition_free(context);
}

void exposition_answer(struct exposition *e, struct http_answer *ret)
{
	*ret = (struct http_answer){ .status = 200,
				     .type = exposition_type(e->options.format),
				     .next = exposition_next,
				     .done = free_context,
				     .context = e };
}
