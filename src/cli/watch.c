/* SPDX-License-Identifier: MIT */
#include "cli/watch.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/endings.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "model/record.h"
#include "sources/thermal.h"
#include "basic/timestamp.h"

#define CHECKPOINT_LOOKS 10 /* without --live, records are read every so many looks */
#define FINAL_TRIES 20 /* the last of a job that ended comes a moment later */
#define FINAL_STEP_NS 100000000

struct watch {
	struct watch_source *source;
	const struct watch_options *options;
	struct watched_list list;
	int signal_fd;
	uint64_t polls, start_ns, start_boot_ns;
};

static void watch_clear(struct watch *w)
{
	watched_clear(&w->list);
	if (w->signal_fd >= 0)
		close(w->signal_fd);
}

/* True: a signal to end came. */
static bool wait_for_signal(const struct watch *w, uint64_t ns)
{
	struct timespec timeout = { .tv_sec = (time_t)(ns / 1000000000),
				    .tv_nsec = (long)(ns % 1000000000) };
	struct pollfd p = { .fd = w->signal_fd, .events = POLLIN };

	return ppoll(&p, 1, &timeout, NULL) > 0;
}

static int take_first(struct watched *job, struct record *record, struct error *err)
{
	int r;

	job->first = record;
	r = record_merge((const struct record *const *)&job->first, 1, &job->last);
	return r < 0 ? error_set_errno(err, r, "cannot keep the record") : 0;
}

static int copy_text(const char *text, char **ret)
{
	*ret = text ? strdup(text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

/* A run that is repeated, a unit that is started again: what was read of the one before is kept. */
static int begin_anew(struct watch *w, struct watched *job, struct record *record,
		      struct error *err)
{
	struct watched *next = watched_add(&w->list);

	job->is_replaced = true;
	job->is_live = false;
	if (!next) { /* what is over the bound is not watched */
		record_free(record);
		return 0;
	}
	next->is_new = next->is_live = true;
	if (copy_text(job->manager, &next->manager) < 0 || copy_text(job->id, &next->id) < 0 ||
	    copy_text(job->label, &next->label) < 0) {
		record_free(record);
		return error_set_errno(err, ENOMEM, "cannot watch the jobs");
	}
	return take_first(next, record, err);
}

/* -ENOENT: the job is not there any more. */
static int read_job(struct watch *w, struct watched *job, struct error *err)
{
	struct record *record = NULL;
	int r = w->source->read(w->source, job, &record, err);

	if (r < 0)
		return r;
	if (!job->first)
		return take_first(job, record, err);
	if (job->last->time.start_ns && record->time.start_ns &&
	    job->last->time.start_ns != record->time.start_ns)
		return begin_anew(w, job, record, err);
	record_free(job->before);
	job->before = job->last;
	job->last = record;
	return 0;
}

static bool is_due(const struct watch *w, const struct watched *job)
{
	if (!job->first)
		return true;
	if (job->last->is_final || job->is_replaced)
		return false;
	return !job->is_live || w->options->look || w->polls % CHECKPOINT_LOOKS == 0;
}

static int look(struct watch *w, struct error *err)
{
	int r = w->source->refresh(w->source, &w->list, err);

	for (size_t i = 0; r == 0 && i < w->list.count; i++) {
		struct watched *job = w->list.items[i];

		r = is_due(w, job) ? read_job(w, job, err) : 0;
		if (r == -ENOENT) { /* it ended, and is not shown any longer */
			job->is_live = false;
			r = 0;
		}
	}
	if (r == 0 && w->options->look && w->polls) {
		const uint64_t passed = clock_now_ns(CLOCK_BOOTTIME) - w->start_boot_ns;

		/* it was due at a whole interval since the start, and may come late */
		w->options->look(w->options->context, &w->list,
				 w->start_ns + passed - passed % w->options->interval_ns);
	}
	w->polls++;
	return r;
}

static bool has_live(const struct watch *w)
{
	for (size_t i = 0; i < w->list.count; i++) {
		if (w->list.items[i]->is_live)
			return true;
	}
	return false;
}

/* Looks are aligned to the start, so that slow ones do not add up. */
static int go_on(struct watch *w, struct error *err)
{
	uint64_t interval = w->options->interval_ns, duration = w->options->duration_ns;

	while (has_live(w)) {
		uint64_t passed = clock_now_ns(CLOCK_BOOTTIME) - w->start_boot_ns;
		uint64_t next = (passed / interval + 1) * interval;
		bool is_last = duration && next >= duration;
		int r;

		if (is_last)
			next = MAX(duration, passed);
		if (wait_for_signal(w, next - passed) || is_last)
			return 0;
		r = look(w, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The last look at all of them; those that ended, until all of it is in. */
static int finish(struct watch *w, struct error *err)
{
	int r = w->source->refresh(w->source, &w->list, err);

	for (size_t i = 0; r == 0 && i < w->list.count; i++) {
		struct watched *job = w->list.items[i];

		for (int tries = 0; r == 0 && !job->is_replaced &&
				    (!job->last || !job->last->is_final) && tries < FINAL_TRIES;
		     tries++) {
			const struct timespec step = { .tv_nsec = FINAL_STEP_NS };

			if (tries)
				nanosleep(&step, NULL);
			r = read_job(w, job, err);
			if (job->is_live)
				break;
		}
		if (r == -ENOENT)
			r = 0;
	}
	return r;
}

static int note_start(struct record *record)
{
	char text[TIMESTAMP_SIZE];
	int r;

	timestamp_format(text, record->time.measured_from_ns);
	text[strcspn(text, ".Z")] = '\0';
	r = strings_add(&record->coverage.notes, "covers only the time since %sZ", text);

	return r == -ENOSPC ? 0 : r;
}

static int note_thermal(const struct record *last, struct record *record)
{
	int r = 0;

	if (last->thermal.samples.is_known && !record->thermal.samples.is_known)
		r = strings_add(&record->coverage.missing,
				THERMAL_LABEL "known for the whole life of the job only");
	return r == -ENOSPC ? 0 : r;
}

/* What the job did while we watched. */
static int conclude(const struct watched *job, struct record **ret, struct error *err)
{
	int r;

	if (job->is_new) {
		r = record_merge((const struct record *const *)&job->last, 1, ret);
		return r < 0 ? error_set_errno(err, r, "cannot keep the record") : 0;
	}
	r = record_subtract(job->last, job->first, ret, err);
	if (r < 0)
		return error_prefix(err, r, "%s", job->label);
	r = note_thermal(job->last, *ret);
	return r < 0 ? r : note_start(*ret);
}

static int collect(const struct watch *w, struct session *ret, struct error *err)
{
	_cleanup_(session_clear) struct session session = {
		.start_ns = w->start_ns,
		.end_ns = clock_now_ns(CLOCK_REALTIME),
		.elapsed_ns = clock_now_ns(CLOCK_BOOTTIME) - w->start_boot_ns,
	};

	for (size_t i = 0; i < w->list.count; i++) {
		struct record *record = NULL;
		int r;

		if (!w->list.items[i]->last)
			continue;
		r = conclude(w->list.items[i], &record, err);
		if (r == 0)
			r = records_add(&session.jobs, record);
		if (r < 0) {
			record_free(record);
			return r;
		}
	}
	*ret = session;
	memset(&session, 0, sizeof(session)); /* it is the caller's now */
	return 0;
}

static bool has_records(const struct watch *w)
{
	for (size_t i = 0; i < w->list.count; i++) {
		if (w->list.items[i]->last)
			return true;
	}
	return false;
}

int watch_jobs(struct watch_source *source, const struct watch_options *options,
	       struct session *ret, struct error *err)
{
	_cleanup_(watch_clear) struct watch w = { .source = source,
						  .options = options,
						  .signal_fd = endings_open() };
	int r, broken;

	if (w.signal_fd < 0)
		return error_set_errno(err, w.signal_fd, "cannot watch for signals");
	r = look(&w, err);
	w.start_ns = clock_now_ns(CLOCK_REALTIME); /* what the first look found is what is taken off
						    */
	w.start_boot_ns = clock_now_ns(CLOCK_BOOTTIME);
	if (r == 0)
		r = go_on(&w, err);
	if (r == 0)
		r = finish(&w, err);
	if (r < 0 && !has_records(&w))
		return r;
	broken = r;
	r = collect(&w, ret, broken < 0 ? NULL : err);
	return r < 0 ? r : broken < 0 ? -EPIPE : 0;
}

struct watched *watched_add(struct watched_list *list)
{
	struct watched **larger;
	struct watched *job;

	if (list->count >= WATCHED_MAX)
		return NULL;
	larger = reallocarray(list->items, list->count + 1, sizeof(struct watched *));
	if (!larger)
		return NULL;
	list->items = larger;
	job = calloc(1, sizeof(*job));
	if (job)
		list->items[list->count++] = job;
	return job;
}

void watched_clear(struct watched_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct watched *job = list->items[i];

		free(job->manager);
		free(job->id);
		free(job->label);
		record_free(job->first);
		record_free(job->before);
		record_free(job->last);
		free(job);
	}
	free(list->items);
	*list = (struct watched_list){};
}

void watch_source_closep(struct watch_source **s)
{
	if (*s)
		(*s)->close(*s);
}
