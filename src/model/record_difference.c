/* SPDX-License-Identifier: MIT */
#include "record_difference.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "error.h"
#include "humanize.h"
#include "macro.h"
#include "record.h"
#include "text.h"

#define STEP_WORDS_SIZE 128

/* Takes @from off *@to.  False: it would fall below zero, and is zero. */
static bool take_off(uint64_t *to, uint64_t from)
{
	bool is_well = from <= *to;

	*to = is_well ? *to - from : 0;
	return is_well;
}

static bool subtract_counts(struct op_counts *to, const struct op_counts *from)
{
	bool is_well = take_off(&to->calls, from->calls);

	is_well &= take_off(&to->bytes, from->bytes);
	is_well &= take_off(&to->errors, from->errors);
	is_well &= take_off(&to->ns, from->ns);
	is_well &= take_off(&to->not_found, from->not_found);
	return is_well;
}

static bool subtract_histogram(struct histogram *to, const struct histogram *from)
{
	bool is_well = true;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		is_well &= take_off(&to->counts[i], from->counts[i]);
	return is_well;
}

static bool subtract_row(struct mount_row *to, const struct mount_row *from)
{
	bool is_well = true;

	to->has_seconds &= from->has_seconds;
	to->has_histograms &= from->has_histograms;
	to->lacks_not_found |= from->lacks_not_found;
	for (size_t op = 0; op < OP_COUNT; op++)
		is_well &= subtract_counts(&to->ops[op], &from->ops[op]);
	for (size_t way = 0; way < WAY_COUNT; way++) {
		for (size_t op = 0; op < OP_DATA_COUNT; op++)
			is_well &= subtract_counts(&to->ways[way][op], &from->ways[way][op]);
	}
	for (size_t op = 0; op < OP_DATA_COUNT; op++) {
		is_well &= subtract_histogram(&to->sizes[op], &from->sizes[op]);
		is_well &= subtract_histogram(&to->latencies[op], &from->latencies[op]);
	}
	return is_well;
}

static bool is_idle(const struct mount_row *row)
{
	static const struct op_counts nothing;

	for (size_t op = 0; op < OP_COUNT; op++) {
		if (memcmp(&row->ops[op], &nothing, sizeof(nothing)) != 0)
			return false;
	}
	for (size_t way = 0; way < WAY_COUNT; way++) {
		if (mount_row_has_way(row, (enum file_way)way))
			return false;
	}
	return true;
}

/* A note too many is left out: a full list says enough. */
static int note_fallen(struct record *r, const char *what)
{
	int ret = strings_add(&r->coverage.notes,
			      "%s fell meanwhile, and so what it was in this time is not known",
			      what);

	return ret == -ENOSPC ? 0 : ret;
}

/* Rows in which nothing was done meanwhile go. */
static void drop_idle_rows(struct reading *r)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->mount_count; i++) {
		struct mount_row row = r->mounts[i];

		if (!is_idle(&row)) {
			r->mounts[i] = r->mounts[kept];
			r->mounts[kept++] = row;
		}
	}
	while (r->mount_count > kept) {
		struct mount_row *row = &r->mounts[--r->mount_count];

		free(row->mount);
		free(row->fstype);
		free(row->source);
		for (size_t i = 0; i < MOUNT_ALIASES_MAX; i++)
			free(row->aliases[i]);
	}
}

static int subtract_rows(struct record *to, const struct reading *from)
{
	struct reading *reading = &to->reading;
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->mount_count; i++) {
		const struct mount_row *row = &from->mounts[i];
		struct mount_row *later =
			reading_find_mount(reading, row->kind, row->mount, row->fstype);

		if (later ? !subtract_row(later, row) : !is_idle(row))
			r = note_fallen(to, row->mount);
	}
	drop_idle_rows(reading);
	reading_sort_mounts(reading);
	return r;
}

static int subtract_mounts(struct record *to, const struct reading *from)
{
	struct reading *reading = &to->reading;
	struct reading bare = { .network = reading->network, .block = reading->block };

	if (reading->has_mounts && from->has_mounts)
		return subtract_rows(to, from);
	memcpy(bare.values, reading->values, sizeof(bare.values));
	reading->block = (struct block){}; /* it is the other's now */
	reading_clear(reading);
	*reading = bare;
	return 0;
}

static int subtract_value(struct record *to, enum metric_id id, const struct value *from)
{
	struct value *value = &to->reading.values[id], later = *value;

	*value = (struct value){};
	if (!later.is_known || !from->is_known)
		return 0;
	if (later.number < from->number)
		return note_fallen(to, metric_get(id)->name);
	*value = (struct value){ later.number - from->number, true };
	return 0;
}

/* A peak that looks saw, and not the kernel. */
static bool is_looked_at(enum metric_id id)
{
	return id >= METRIC_MEMORY_ANON_PEAK && id <= METRIC_MEMORY_KERNEL_PEAK;
}

/* A peak that did not rise was reached before: nobody knows how high it was meanwhile. */
static int label_peak(struct record *to, enum metric_id id, const struct value *from)
{
	struct value *value = &to->reading.values[id];
	const struct metric *metric = metric_get(id);
	int r;

	if (!value->is_known || !from->is_known || value->number > from->number)
		return 0;
	if (is_looked_at(id)) { /* it may have been higher, between two looks */
		*value = (struct value){};
		return 0;
	}
	r = strings_add(&to->coverage.notes,
			"%s.%s, %s, is from before: since then it was no higher", metric->section,
			metric->key, humanize_bytes(value->number).text);
	return r == -ENOSPC ? 0 : r;
}

static int subtract_values(struct record *to, const struct reading *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < METRIC_JOB_COUNT; i++) {
		enum metric_id id = (enum metric_id)i;

		if (metric_get(id)->kind == KIND_COUNTER)
			r = subtract_value(to, id, &from->values[id]);
		else if (metric_get(id)->kind == KIND_PEAK)
			r = label_peak(to, id, &from->values[id]);
	}
	return r;
}

uint64_t record_moment(const struct record *r)
{
	if (r->time.end_ns)
		return r->time.end_ns;
	return r->time.start_ns ? r->time.start_ns + r->time.elapsed_ns : 0;
}

static void subtract_time(struct record *to, const struct record *earlier)
{
	uint64_t moment = record_moment(earlier);

	(void)take_off(&to->time.elapsed_ns, earlier->time.elapsed_ns);
	if (moment)
		to->time.measured_from_ns = MAX(moment, to->time.measured_from_ns);
}

static bool may_be_equal(const char *a, const char *b)
{
	return !a || !b || strcmp(a, b) == 0;
}

/* What one of the two does not say may have been learned meanwhile. */
static int check_sameness(const struct record *later, const struct record *earlier,
			  struct error *err)
{
	if (text_is_equal(later->job.manager, earlier->job.manager) &&
	    text_is_equal(later->job.id, earlier->job.id) &&
	    may_be_equal(later->node, earlier->node) &&
	    may_be_equal(later->boot_id, earlier->boot_id) &&
	    (!later->time.start_ns || !earlier->time.start_ns ||
	     later->time.start_ns == earlier->time.start_ns))
		return 0;
	return error_set(err, -ESTALE, "that is another job by now");
}

/* ---- steps ---- */

static int subtract_step_value(struct record *to, struct step *step, enum metric_id id, const struct value *from)
{
	const struct metric *metric = metric_get(id);
	struct value *value = &step->values[id], later = *value;
	bool is_comparable = later.is_known && from->is_known;
	char what[STEP_WORDS_SIZE];

	if (metric->kind == KIND_PEAK && is_comparable && later.number <= from->number)
		*value = (struct value){}; /* reached before: nobody knows how high it was meanwhile */
	if (metric->kind != KIND_COUNTER)
		return 0;
	*value = (struct value){};
	if (is_comparable && later.number < from->number) {
		snprintf(what, sizeof(what), "step %s's %s", step->id, metric->name);
		return note_fallen(to, what);
	}
	if (is_comparable)
		*value = (struct value){ later.number - from->number, true };
	return 0;
}

static int subtract_step(struct record *to, struct step *step, const struct step *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < METRIC_JOB_COUNT; i++)
		r = subtract_step_value(to, step, (enum metric_id)i, &from->values[i]);
	network_subtract(&step->network, &from->network);
	return r;
}

static int subtract_steps(struct record *to, const struct steps *from)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->count; i++) {
		const struct step *earlier = &from->items[i];
		struct step *step = steps_find(&to->steps, earlier->id);
		char what[STEP_WORDS_SIZE];

		if (earlier->end_ns) {
			steps_remove(&to->steps, step);
		} else if (step) {
			r = subtract_step(to, step, earlier);
		} else {
			snprintf(what, sizeof(what), "step %s", earlier->id);
			r = note_fallen(to, what);
		}
	}
	return r;
}

static void subtract_ports(struct record *to, const struct record *earlier)
{
	if (to->ports && earlier->ports) {
		ports_subtract(to->ports, earlier->ports);
		return;
	}
	free(to->ports);
	to->ports = NULL;
}

int record_subtract(const struct record *later, const struct record *earlier, struct record **ret,
		    struct error *err)
{
	_cleanup_(record_freep) struct record *difference = NULL;
	int r = check_sameness(later, earlier, err);

	if (r < 0)
		return r;
	r = record_merge(&later, 1, &difference); /* of one, that is a copy */
	if (r < 0)
		return r;
	assert(difference);
	if (earlier->files.is_known) /* those used most of the whole life may be others */
		hot_files_clear(&difference->files);
	difference->cores = difference->ranks = (struct evenness){}; /* of the whole life */
	difference->threads = (struct threads){};
	if (earlier->thermal.samples.is_known) /* means and extremes cannot be taken apart */
		difference->thermal = (struct thermal_samples){};
	victims_subtract(&difference->victims, &earlier->victims);
	subtract_ports(difference, earlier);
	subtract_time(difference, earlier);
	(void)take_off(&difference->coverage.lost_events, earlier->coverage.lost_events);
	(void)take_off(&difference->coverage.unmeasured_ns, earlier->coverage.unmeasured_ns);
	network_subtract(&difference->reading.network, &earlier->reading.network);
	syscalls_subtract(&difference->syscalls, &earlier->syscalls);
	block_subtract(&difference->reading.block, &earlier->reading.block);
	r = subtract_values(difference, &earlier->reading);
	if (r == 0)
		r = subtract_mounts(difference, &earlier->reading);
	if (r == 0)
		r = subtract_steps(difference, &earlier->steps);
	if (r == 0)
		r = timeline_subtract(&difference->timeline, &earlier->timeline);
	if (r < 0)
		return r;
	record_close_books(difference);
	*ret = TAKE_PTR(difference);
	return 0;
}
