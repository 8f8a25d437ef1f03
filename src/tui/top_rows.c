/* SPDX-License-Identifier: MIT */
/* The rows of top: jobs in their order, each followed by its parts, if unfolded.
 */
#include "basic/array.h"
#include "tui/top.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "tui/columns.h"
#include "basic/macro.h"
#include "tui/processes.h"
#include "model/sections/steps.h"
#include "basic/text.h"

#define NS_PER_S 1e9

static int add_row(struct top *t, const struct top_row *row)
{
	if (array_reserve(&t->rows, &t->row_room, t->row_count, sizeof(*t->rows)) < 0)
		return -ENOMEM;
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
	const struct process *before = t->processes_before ? processes_find(t->processes_before,
									    now->pid, now->start_ns)
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

/* ---- processes of jobs ---- */

struct span { /* by place */
	const struct process **items;
	size_t count;
};

static int compare_to(const struct process *p, const char *manager, const char *id,
		      const char *step)
{
	int order = strcmp(p->place->manager, manager);

	order = order ? order : strcmp(p->place->id, id);
	return order ? order : strcmp(p->place->step, step);
}

static int compare_places(const void *a, const void *b)
{
	const struct process *x = *(const struct process *const *)a,
			     *y = *(const struct process *const *)b;
	int order;

	if (x->place == y->place)
		return 0;
	order = compare_to(x, y->place->manager, y->place->id, y->place->step);
	return order ? order : strverscmp(x->place->task, y->place->task);
}

/* All of them; the caller frees the items. */
static int sort_processes(const struct top *t, struct span *ret)
{
	size_t count = t->processes ? t->processes->count : 0;
	struct span all = { calloc(count + 1, sizeof(*all.items)), count };

	if (!all.items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		all.items[i] = &t->processes->items[i];
	qsort(all.items, count, sizeof(*all.items), compare_places);
	*ret = all;
	return 0;
}

/* Those of a step ("": of none), task by task; of no task first. */
static struct span find_step(const struct span *all, const struct top_job *job, const char *step)
{
	const char *manager = job->now->job.manager, *id = job->now->job.id;
	size_t low = 0, high = all->count, count = 0;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (compare_to(all->items[middle], manager, id, step) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + count < all->count &&
	       compare_to(all->items[low + count], manager, id, step) == 0)
		count++;
	return (struct span){ all->items + low, count };
}

/* The first ones, that are of one task. */
static struct span first_task(const struct span *step)
{
	size_t count = 0;

	while (count < step->count &&
	       text_is_equal(step->items[count]->place->task, step->items[0]->place->task))
		count++;
	return (struct span){ step->items, count };
}

static void sort_rows(struct top *t, size_t first)
{
	qsort_r(t->rows + first, t->row_count - first, sizeof(*t->rows), compare_rows, t);
}

static int add_processes(struct top *t, struct top_job *job, const struct step *step,
			 const char *task, const struct span *processes, unsigned int depth)
{
	size_t first = t->row_count;
	int r = 0;

	for (size_t i = 0; r == 0 && i < processes->count; i++) {
		const struct process *p = processes->items[i];

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

static int add_task(struct top *t, struct top_job *job, const struct step *step,
		    const struct span *processes, unsigned int depth)
{
	const char *task = processes->items[0]->place->task;
	int r = add_row(t, &(struct top_row){ .part = TOP_TASK,
					      .job = job,
					      .step = step,
					      .task = task,
					      .numbers = numbers_none(),
					      .depth = depth });

	return r < 0 ? r : add_processes(t, job, step, task, processes, depth + 1);
}

/* Task by task, then what is of none. */
static int add_tasks(struct top *t, struct top_job *job, const struct step *step,
		     const struct span *all, unsigned int depth)
{
	struct span left = find_step(all, job, step ? step->id : ""), others = {}, task;
	int r = 0;

	for (; r == 0 && left.count; left.items += task.count, left.count -= task.count) {
		task = first_task(&left);
		if (*task.items[0]->place->task)
			r = add_task(t, job, step, &task, depth);
		else
			others = task;
	}
	return r < 0 ? r : add_processes(t, job, step, "", &others, depth);
}

static struct numbers numbers_since(const struct top_job *job, const struct step *step)
{
	const struct step *before = job->before ? steps_find(&job->before->steps, step->id) : NULL;

	/* one that began meanwhile began with nothing, some time in between */
	return numbers_of_step(step, before, job->before && !before ? NAN : job->numbers.seconds);
}

static int add_step(struct top *t, struct top_job *job, const struct step *step,
		    const struct span *all)
{
	int r = add_row(t, &(struct top_row){ .part = TOP_STEP,
					      .job = job,
					      .step = step,
					      .numbers = numbers_since(job, step),
					      .depth = 1 });

	return r < 0 ? r : add_tasks(t, job, step, all, 2);
}

/* What is of no step, then the steps that live. */
static int add_parts(struct top *t, struct top_job *job, const struct span *all)
{
	int r = add_tasks(t, job, NULL, all, 1);

	for (size_t i = 0; r == 0 && i < job->now->steps.count; i++) {
		const struct step *step = &job->now->steps.items[i];

		if (!step->end_ns)
			r = add_step(t, job, step, all);
	}
	return r;
}

static int add_jobs(struct top *t)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->job_count; i++) {
		struct top_job *job = &t->jobs[i];

		if (top_shows(t, job) && !top_hides(t, job))
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
	struct span all = {};
	int r = jobs ? sort_processes(t, &all) : -ENOMEM;

	if (jobs && count)
		memcpy(jobs, t->rows, count * sizeof(*jobs));
	t->row_count = r < 0 ? t->row_count : 0;
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = add_row(t, &jobs[i]);
		if (r == 0 && (!jobs[i].job->is_folded || *t->zoom[1]))
			r = add_parts(t, jobs[i].job, &all);
	}
	free(all.items);
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
		if (text_is_equal(t->jobs[i].now->job.id, id) &&
		    text_is_equal(t->jobs[i].now->job.manager, manager))
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
		snprintf(t->message, sizeof(t->message), "%.40s/%.60s has ended", t->mark.manager,
			 t->mark.id);
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
	uint32_t open = 0;

	t->row_count = 0;
	t->wanted.has_gpus = t->last.node.values[NODE_GPUS].number > 0;
	r = add_jobs(t);
	if (r == 0 && (t->is_tree || *t->zoom[1]))
		r = expand_jobs(t);
	if (r < 0)
		t->row_count = 0;
	/* For the lines of the tree: who has a next one, seen from the end. */
	for (size_t i = t->row_count; i-- > 0;) {
		struct top_row *row = &t->rows[i];
		uint32_t own = UINT32_C(1) << row->depth;

		open &= (own << 1) - 1; /* deeper levels end */
		row->has_next = open;
		open |= own;
	}
	if (t->is_following || t->has_detail || t->finds_mark)
		follow_mark(t);
	t->finds_mark = false;
	top_select(t, t->selected);
	return r;
}
