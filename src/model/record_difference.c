/* SPDX-License-Identifier: MIT */
#include "model/record.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "model/section.h"
#include "basic/text.h"

/* Takes @from off *@to.  False: it would fall below zero, and is zero. */
static bool take_off(uint64_t *to, uint64_t from)
{
	bool is_well = from <= *to;

	*to = is_well ? *to - from : 0;
	return is_well;
}

static bool subtract_row(struct mount_row *to, const struct mount_row *from)
{
	const uint64_t *before = (const uint64_t *)&from->ops;
	uint64_t *numbers = (uint64_t *)&to->ops;
	bool is_well = true;

	to->has_seconds &= from->has_seconds;
	to->has_histograms &= from->has_histograms;
	to->lacks_not_found |= from->lacks_not_found;
	for (size_t i = 0; i < MOUNT_NUMBERS; i++)
		is_well &= take_off(&numbers[i], before[i]);
	return is_well;
}

static bool is_idle(const struct mount_row *row)
{
	const uint64_t *numbers = (const uint64_t *)&row->ops;
	uint64_t any = 0;

	for (size_t i = 0; i < MOUNT_NUMBERS; i++)
		any |= numbers[i];
	return !any;
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
	while (r->mount_count > kept)
		mount_row_clear(&r->mounts[--r->mount_count]);
}

static int subtract_rows(struct record *to, const struct reading *from)
{
	struct reading *reading = &to->reading;
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->mount_count; i++) {
		const struct mount_row *row = &from->mounts[i];
		struct mount_row *later = reading_find_mount(reading, row->kind, row->mount,
							     row->fstype);

		if (later ? !subtract_row(later, row) : !is_idle(row))
			r = section_note_fallen(&to->coverage.notes, row->mount);
	}
	drop_idle_rows(reading);
	reading_sort_mounts(reading);
	return r;
}

static int subtract_mounts(struct record *to, const struct reading *from)
{
	struct reading *reading = &to->reading;

	if (reading->has_mounts && from->has_mounts)
		return subtract_rows(to, from);
	reading_clear_mounts(reading);
	return 0;
}

static int subtract_value(struct record *to, enum metric_id id, const struct value *from)
{
	struct value *value = &to->reading.values[id], later = *value;

	*value = (struct value){};
	if (!later.is_known || !from->is_known)
		return 0;
	if (later.number < from->number)
		return section_note_fallen(&to->coverage.notes, metric_get(id)->name);
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

/* When @r was taken, since the epoch; 0: it does not say. */
static uint64_t moment_of(const struct record *r)
{
	if (r->time.end_ns)
		return r->time.end_ns;
	return r->time.start_ns ? r->time.start_ns + r->time.elapsed_ns : 0;
}

static void subtract_time(struct record *to, const struct record *earlier)
{
	uint64_t moment = moment_of(earlier);

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

/* Which CPUs it used meanwhile nobody knows, if it had used some before. */
static void subtract_cpus(struct record *to, const struct record *earlier)
{
	if (!earlier->job.cpus_used)
		return;
	free(to->job.cpus_used);
	free(to->job.numa_used);
	to->job.cpus_used = to->job.numa_used = NULL;
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
	subtract_time(difference, earlier);
	subtract_cpus(difference, earlier);
	(void)take_off(&difference->coverage.lost_events, earlier->coverage.lost_events);
	(void)take_off(&difference->coverage.unmeasured_ns, earlier->coverage.unmeasured_ns);
	r = subtract_values(difference, &earlier->reading);
	if (r == 0)
		r = subtract_mounts(difference, &earlier->reading);
	for (size_t i = 0; r == 0 && i < section_count; i++)
		r = section_subtract(sections[i], section_of(difference, sections[i]),
				     section_get(earlier, sections[i]),
				     &difference->coverage.notes);
	if (r < 0)
		return r;
	record_close_accounting(difference);
	*ret = TAKE_PTR(difference);
	return 0;
}
