/* SPDX-License-Identifier: MIT */
#include "tui/top.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/classes.h"
#include "basic/cleanup.h"
#include "tui/columns.h"
#include "basic/parse.h"
#include "tui/processes.h"
#include "basic/text.h"

#define NS_PER_S 1e9
#define LATE                                                                                    \
	1.25 /* a job that we see first lived no longer than so many intervals, or it is no new \
		one */

struct top *top_new(const struct rules *rules)
{
	struct top *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->rules = rules;
	t->column = COLUMN_DEFAULT;
	t->own_cores = NAN;
	return t;
}

struct top *top_free(struct top *t)
{
	if (!t)
		return NULL;
	wire_snapshot_clear(&t->last);
	wire_snapshot_clear(&t->before);
	record_free(t->detail);
	free(t->jobs);
	free(t->rows);
	free(t);
	return NULL;
}

/* ---- jobs ---- */

static int compare_records(const void *a, const void *b)
{
	const struct record *x = *(struct record *const *)a, *y = *(struct record *const *)b;
	int order = strcmp(x->job.manager, y->job.manager);

	return order ? order : strcmp(x->job.id, y->job.id);
}

/* The same job, and not one that got its number later. */
static const struct record *find_before(const struct tick *before, const struct record *now)
{
	struct record *const *found;

	if (!before->jobs.count)
		return NULL;
	found = bsearch(&now, before->jobs.items, before->jobs.count, sizeof(*before->jobs.items),
			compare_records);
	if (!found || (*found)->time.start_ns != now->time.start_ns)
		return NULL;
	return *found;
}

/* How long it did what it did between both; NAN: not known. */
static double seconds_between(const struct top *t, const struct record *now,
			      const struct record *before)
{
	double interval = ((double)t->last.boot_ns - (double)t->before.boot_ns) / NS_PER_S;
	double elapsed = (double)now->time.elapsed_ns / NS_PER_S;

	if (!t->before.boot_ns || interval <= 0)
		return NAN;
	if (before && now->is_final && now->time.elapsed_ns > before->time.elapsed_ns)
		return elapsed - (double)before->time.elapsed_ns / NS_PER_S;
	if (before)
		return interval;
	return elapsed > 0 && elapsed <= interval * LATE ? elapsed : NAN;
}

/* The user's marks on the job before the update. */
static void keep_marks(const struct top *t, struct top_job *job)
{
	for (size_t i = 0; i < t->job_count; i++) {
		const struct top_job *old = &t->jobs[i];

		if ((old->is_tagged || old->is_folded) &&
		    text_is_equal(old->now->job.manager, job->now->job.manager) &&
		    text_is_equal(old->now->job.id, job->now->job.id)) {
			job->is_tagged = old->is_tagged;
			job->is_folded = old->is_folded;
			return;
		}
	}
}

static bool has_marks(const struct top *t)
{
	for (size_t i = 0; i < t->job_count; i++) {
		if (t->jobs[i].is_tagged || t->jobs[i].is_folded)
			return true;
	}
	return false;
}

/* Those that live, and those that lived at the tick before. */
static bool is_of_now(const struct top *t, const struct record *now, const struct record *before)
{
	return !now->is_final || (before ? !before->is_final : t->before.boot_ns != 0);
}

/* A job that ended and that we never saw may have ended long before. */
static bool is_new(const struct top *t, const struct record *now)
{
	return !t->before.real_ns || !now->time.end_ns || now->time.end_ns > t->before.real_ns;
}

static int make_jobs(struct top *t, struct top_job **ret, size_t *ret_count)
{
	struct top_job *jobs = calloc(t->last.jobs.count + 1, sizeof(*jobs));
	size_t count = 0;

	if (!jobs)
		return -ENOMEM;
	for (size_t i = 0; i < t->last.jobs.count; i++) {
		const struct record *now = t->last.jobs.items[i],
				    *before = find_before(&t->before, now);

		if (!is_of_now(t, now, before) || (!before && !is_new(t, now)))
			continue;
		jobs[count++] = (struct top_job){
			.now = now,
			.before = before,
			.numbers = numbers_of_job(now, before, seconds_between(t, now, before)),
		};
	}
	*ret = jobs;
	*ret_count = count;
	return 0;
}

/* Its ticks are in place; @tagged are the jobs as they were. */
static int take_jobs(struct top *t)
{
	struct top_job *jobs;
	size_t count;
	int r;

	if (t->before.jobs.count)
		qsort(t->before.jobs.items, t->before.jobs.count, sizeof(*t->before.jobs.items),
		      compare_records);
	r = make_jobs(t, &jobs, &count);
	if (r < 0)
		return r;
	for (size_t i = 0; has_marks(t) && i < count; i++)
		keep_marks(t, &jobs[i]);
	free(t->jobs);
	t->jobs = jobs;
	t->job_count = count;
	return 0;
}

static void drop_jobs(struct top *t)
{
	t->row_count = t->job_count = 0;
}

int top_set(struct top *t, struct tick *before, struct tick *tick)
{
	struct tick last = t->last, earlier = t->before;
	int r;

	t->before = before ? *before : (struct tick){};
	t->last = *tick;
	*tick = (struct tick){};
	if (before)
		*before = (struct tick){};
	r = take_jobs(t);
	if (r < 0)
		drop_jobs(t);
	wire_snapshot_clear(&last);
	wire_snapshot_clear(&earlier);
	return r < 0 ? r : top_arrange(t);
}

int top_feed(struct top *t, struct tick *tick)
{
	struct tick before = t->last;
	int r;

	if (tick->boot_ns == t->last.boot_ns) { /* the same reading, once more */
		wire_snapshot_clear(tick);
		return top_arrange(t);
	}
	/* jobs still point into it, for their tags, so it is kept as the previous one */
	wire_snapshot_clear(&t->before);
	t->before = before;
	t->last = *tick;
	*tick = (struct tick){};
	r = take_jobs(t);
	if (r < 0)
		drop_jobs(t);
	return r < 0 ? r : top_arrange(t);
}

const char *top_class(const struct top *t, struct top_job *job)
{
	struct classes classes = {};

	if (job->class)
		return job->class;
	job->class = "";
	if (t->rules && classes_find(t->rules, job->now, NULL, &classes) == 0 && classes.count)
		job->class = classes.items[0].rule->id;
	classes_clear(&classes);
	return job->class;
}

/* ---- which of them ---- */

static bool has_text(const char *text, const char *part)
{
	return text && strcasestr(text, part);
}

static bool is_of_user(const struct record *r, const char *user)
{
	uint64_t uid;

	if (text_is_equal(r->job.user, user))
		return true;
	return r->job.uid >= 0 && parse_u64(user, &uid) == 0 && uid == (uint64_t)r->job.uid;
}

const char *top_next_user(const struct top *t, const char *start, const char *before)
{
	const char *next = NULL;

	for (size_t i = 0; i < t->job_count; i++) {
		const char *user = t->jobs[i].now->job.user;

		if (user && strncmp(user, start, strlen(start)) == 0 &&
		    (!before || strcmp(user, before) > 0) && (!next || strcmp(user, next) < 0))
			next = user;
	}
	return next;
}

static bool is_target(const struct top *t, const struct record *r)
{
	for (size_t i = 0; i < t->target_count; i++) {
		if (text_is_equal(t->targets[i].id, r->job.id) &&
		    (!t->targets[i].manager ||
		     text_is_equal(t->targets[i].manager, r->job.manager)))
			return true;
	}
	return t->target_count == 0;
}

/* Does the text occur in its identifying columns? */
static bool matches(const struct top *t, struct top_job *job, const char *text)
{
	const struct record *r = job->now;

	return has_text(r->job.id, text) || has_text(r->job.user, text) ||
	       has_text(r->job.name, text) ||
	       (r->job.command && has_text(r->job.command[0], text)) ||
	       has_text(r->job.manager, text) || has_text(r->job.account, text) ||
	       has_text(r->job.partition, text) || has_text(top_class(t, job), text);
}

bool top_matches(const struct top *t, const struct top_row *row, const char *text)
{
	if (row->process)
		return has_text(row->process->name, text);
	return row->part == TOP_JOB && matches(t, row->job, text);
}

bool top_has_number(const struct top_row *row, const char *digits)
{
	char pid[16] = "";

	if (row->part == TOP_PROCESS)
		snprintf(pid, sizeof(pid), "%d", row->process->pid);
	else if (row->part != TOP_JOB)
		return false;
	return strncmp(row->part == TOP_JOB ? row->job->now->job.id : pid, digits,
		       strlen(digits)) == 0;
}

bool top_shows(const struct top *t, const struct top_job *job)
{
	if (*t->zoom[1])
		return text_is_equal(t->zoom[0], job->now->job.manager) &&
		       text_is_equal(t->zoom[1], job->now->job.id);
	if (!is_target(t, job->now) || (*t->user && !is_of_user(job->now, t->user)))
		return false;
	if (t->is_tagged_only && !job->is_tagged)
		return false;
	return !*t->filter || matches(t, (struct top_job *)job, t->filter);
}

bool top_hides(const struct top *t, const struct top_job *job)
{
	return t->hides_idle && !*t->zoom[1] && numbers_are_idle(&job->numbers);
}
