/* SPDX-License-Identifier: MIT */
/* The rows of top: jobs in their order, and behind each its parts, if somebody wants to see them.
 */
#include "top.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "columns.h"
#include "macro.h"
#include "processes.h"
#include "record.h"
#include "steps.h"
#include "text.h"

#define NS_PER_S 1e9

static int add_row(struct top *t, const struct top_row *row)
{
	if (t->row_count == t->row_room) {
		size_t room = t->row_room * 2 + 64;
		struct top_row *larger = reallocarray(t->rows, room, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		t->rows = larger;
		t->row_room = room;
	}
	t->rows[t->row_count++] = *row;
	return 0;
}

static int compare_rows(const void *a, const void *b, void *top)
{
	const struct top_row *x = a, *y = b;
	const struct top *t = top;
	int order = column_compare(t, t->column, x, y);

	if (order)
		return t->is_inverted ? -order : order;
	if (x->part == TOP_PROCESS && y->part == TOP_PROCESS)
		return (x->process->pid > y->process->pid) - (x->process->pid < y->process->pid);
	order = strverscmp(x->job->now->job.manager, y->job->now->job.manager);
	return order ? order : strverscmp(x->job->now->job.id, y->job->now->job.id);
}

static struct numbers numbers_of_process(const struct top *t, const struct process *now)
{
	const struct process *before =
		t->processes_before ? processes_find(t->processes_before, now->pid, now->start_ns)
				    : NULL;
	struct numbers n = numbers_none();

	n.memory = (double)now->resident_bytes;
	n.elapsed = ((double)t->processes->boot_ns - (double)now->start_ns) / NS_PER_S;
	if (!before || t->processes->boot_ns <= t->processes_before->boot_ns)
		return n;
	n.seconds = (double)(t->processes->boot_ns - t->processes_before->boot_ns) / NS_PER_S;
	if (now->cpu_ns >= before->cpu_ns)
		n.cores = (double)(now->cpu_ns - before->cpu_ns) / NS_PER_S / n.seconds;
	if (now->read.is_known && before->read.is_known && now->read.number >= before->read.number)
		n.read = (double)(now->read.number - before->read.number) / n.seconds;
	if (now->written.is_known && before->written.is_known &&
	    now->written.number >= before->written.number)
		n.write = (double)(now->written.number - before->written.number) / n.seconds;
	return n;
}

/* Is it of this part of the job?  @task NULL: of none. */
static bool is_part(const struct process *p, const struct top_job *job, const char *step,
		    const char *task)
{
	const struct process_place *place = p->place;

	return text_is_equal(place->manager, job->now->job.manager) &&
	       text_is_equal(place->id, job->now->job.id) && text_is_equal(place->step, step) &&
	       text_is_equal(place->task, task);
}

static void sort_rows(struct top *t, size_t first)
{
	qsort_r(t->rows + first, t->row_count - first, sizeof(*t->rows), compare_rows, t);
}

static int add_processes(struct top *t, struct top_job *job, const struct step *step,
			 const char *step_id, const char *task, unsigned int depth)
{
	size_t first = t->row_count;
	int r = 0;

	for (size_t i = 0; r == 0 && t->processes && i < t->processes->count; i++) {
		const struct process *p = &t->processes->items[i];

		if (is_part(p, job, step_id, task))
			r = add_row(t, &(struct top_row){ .part = TOP_PROCESS,
							  .job = job,
							  .step = step,
							  .task = task,
							  .process = p,
							  .numbers = numbers_of_process(t, p),
							  .depth = depth });
	}
	if (r == 0 && t->row_count > first)
		sort_rows(t, first);
	return r;
}

/* The task that comes behind @task ("": the first) among processes of a step; NULL: none. */
static const char *next_task(const struct top *t, const struct top_job *job, const char *step,
			     const char *task)
{
	const char *next = NULL;

	for (size_t i = 0; t->processes && i < t->processes->count; i++) {
		const char *other = t->processes->items[i].place->task;

		if (*other && strverscmp(other, task) > 0 &&
		    (!next || strverscmp(other, next) < 0) &&
		    is_part(&t->processes->items[i], job, step, other))
			next = other;
	}
	return next;
}

static int add_tasks(struct top *t, struct top_job *job, const struct step *step,
		     const char *step_id, unsigned int depth)
{
	int r = 0;

	for (const char *task = ""; r == 0 && (task = next_task(t, job, step_id, task));) {
		struct top_row row = { .part = TOP_TASK,
				       .job = job,
				       .step = step,
				       .task = task,
				       .numbers = numbers_none(),
				       .depth = depth };

		r = add_row(t, &row);
		if (r == 0)
			r = add_processes(t, job, step, step_id, task, depth + 1);
	}
	return r < 0 ? r : add_processes(t, job, step, step_id, "", depth);
}

static struct numbers numbers_since(const struct top_job *job, const struct step *step)
{
	const struct step *before = job->before ? steps_find(&job->before->steps, step->id) : NULL;

	/* one that began meanwhile began with nothing, some time in between */
	return numbers_of_step(step, before, job->before && !before ? NAN : job->numbers.seconds);
}

static int add_step(struct top *t, struct top_job *job, const struct step *step)
{
	int r = add_row(t, &(struct top_row){ .part = TOP_STEP,
					      .job = job,
					      .step = step,
					      .numbers = numbers_since(job, step),
					      .depth = 1 });

	return r < 0 ? r : add_tasks(t, job, step, step->id, 2);
}

/* What is of no step, then the steps that live. */
static int add_parts(struct top *t, struct top_job *job)
{
	int r = add_tasks(t, job, NULL, "", 1);

	for (size_t i = 0; r == 0 && i < job->now->steps.count; i++) {
		const struct step *step = &job->now->steps.items[i];

		if (!step->end_ns)
			r = add_step(t, job, step);
	}
	return r;
}

/* For the lines of the tree: who has a next one, seen from the end. */
static void link_rows(struct top *t)
{
	uint32_t open = 0;

	for (size_t i = t->row_count; i-- > 0;) {
		struct top_row *row = &t->rows[i];
		uint32_t own = UINT32_C(1) << row->depth;

		open &= (own << 1) - 1; /* what stands deeper is over */
		row->has_next = open;
		open |= own;
	}
}

static int add_jobs(struct top *t)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->job_count; i++) {
		struct top_job *job = &t->jobs[i];

		if (top_shows(t, job))
			r = add_row(t, &(struct top_row){ .part = TOP_JOB,
							  .job = job,
							  .numbers = job->numbers });
	}
	if (r == 0 && t->row_count)
		sort_rows(t, 0);
	return r;
}

/* Behind each job its parts. */
static int expand_jobs(struct top *t)
{
	_cleanup_free_ struct top_row *jobs = calloc(t->row_count + 1, sizeof(*jobs));
	size_t count = t->row_count;
	int r = jobs ? 0 : -ENOMEM;

	if (jobs && count)
		memcpy(jobs, t->rows, count * sizeof(*jobs));
	t->row_count = r < 0 ? t->row_count : 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = add_row(t, &jobs[i]);
		if (r == 0)
			r = add_parts(t, jobs[i].job);
	}
	return r;
}

/* ---- the selection ---- */

static void mark(const struct top_row *row, struct top_mark *ret)
{
	*ret = (struct top_mark){ .part = row->part, .pid = row->process ? row->process->pid : 0 };
	snprintf(ret->manager, sizeof(ret->manager), "%s", row->job->now->job.manager);
	snprintf(ret->id, sizeof(ret->id), "%s", row->job->now->job.id);
	snprintf(ret->step, sizeof(ret->step), "%s", row->step ? row->step->id : "");
	snprintf(ret->task, sizeof(ret->task), "%s", row->task ? row->task : "");
}

static bool is_at_mark(const struct top *t, const struct top_row *row)
{
	const struct top_mark *m = &t->mark;

	return row->part == m->part && text_is_equal(row->job->now->job.manager, m->manager) &&
	       text_is_equal(row->job->now->job.id, m->id) &&
	       text_is_equal(row->step ? row->step->id : "", m->step) &&
	       text_is_equal(row->task ? row->task : "", m->task) &&
	       (row->process ? row->process->pid : 0) == m->pid;
}

static bool has_job(const struct top *t, const char *manager, const char *id)
{
	for (size_t i = 0; i < t->job_count; i++) {
		if (text_is_equal(t->jobs[i].now->job.id, id) && text_is_equal(t->jobs[i].now->job.manager, manager))
			return true;
	}
	return false;
}

/* Whoever looks at a job should not take another one for it. */
static void follow_mark(struct top *t)
{
	for (size_t i = 0; i < t->row_count; i++) {
		if (is_at_mark(t, &t->rows[i])) {
			t->selected = i;
			return;
		}
	}
	if (*t->mark.id && t->job_count && !has_job(t, t->mark.manager, t->mark.id))
		snprintf(t->message, sizeof(t->message), "%.40s/%.60s has ended", t->mark.manager, t->mark.id);
}

const struct top_row *top_selected(const struct top *t)
{
	return t->selected < t->row_count ? &t->rows[t->selected] : NULL;
}

void top_select(struct top *t, size_t row)
{
	t->selected = MIN(row, t->row_count ? t->row_count - 1 : 0);
	if (top_selected(t))
		mark(top_selected(t), &t->mark);
}

int top_arrange(struct top *t)
{
	int r;

	t->row_count = 0;
	r = add_jobs(t);
	if (r == 0 && (t->is_tree || *t->zoom[1]))
		r = expand_jobs(t);
	if (r < 0)
		t->row_count = 0;
	link_rows(t);
	if (t->is_following || t->has_detail || t->finds_mark)
		follow_mark(t);
	t->finds_mark = false;
	top_select(t, t->selected);
	return r;
}
