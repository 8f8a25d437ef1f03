/* SPDX-License-Identifier: MIT */
#include "tui/top_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "analysis/classes.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/endings.h"
#include "basic/error.h"
#include "tui/grid.h"
#include "cgroup/hierarchy.h"
#include "basic/macro.h"
#include "tui/processes.h"
#include "tui/screen.h"
#include "basic/text.h"
#include "tui/top_draw.h"
#include "tui/top_source.h"
#include "basic/waiter.h"
#include "model/document.h"
#include "codec/record_format.h"
#include "tui/top.h"

/* ---- a tick as a line of JSON (jobmeter ---- */

struct line_job {
	const struct top *top;
	struct top_job *job;
};

static void format_more(const void *context, struct document *d)
{
	const struct line_job *l = context;
	const char *class = top_class(l->top, l->job);

	document_put_string(d, "class", *class ? class : NULL);
	document_key(d, "now");
	numbers_format(&l->job->numbers, d);
}

/* @is_all: with jobs that the filter hides.  -ENOMEM, -EIO...: the line is incomplete. */
static int top_line_write(const struct top *t, bool is_all, FILE *out)
{
	_cleanup_(document_freep) struct document *d = document_new_json(out, DOCUMENT_ONE_LINE);

	if (!d)
		return -ENOMEM;
	document_begin_map(d);
	wire_snapshot_format_head(&t->last, d);
	document_begin_list_of(d, "jobs");
	for (size_t i = 0; i < t->job_count; i++) {
		const struct line_job line = { t, &t->jobs[i] };

		if (is_all || (top_shows(t, line.job) && !top_hides(t, line.job)))
			record_format_with(line.job->now, format_more, &line, d);
	}
	document_end_list(d);
	document_end_map(d);
	return document_finish(d);
}

#define FIRST_NS UINT64_C(100000000) /* between the first two readings at least... */
#define FIRST_MOST_NS \
	UINT64_C(60000000000) /* ...and at most: what jobs did before is not what they do now */
#define FRESH_NS UINT64_C(50000000)
#define OLDEST_NS UINT64_C(1000000000)
#define ENDED_MORE_NS UINT64_C(5000000000) /* that a look may come late */
#define PATIENCE_NS                                                                           \
	UINT64_C(300000000) /* so long a first frame is awaited, before a screen says what it \
			       waits for... */
#define SILENCE_NS \
	UINT64_C(1000000000) /* ...and later ones, before it says that there is no answer */
#define WAITING_MS 250

struct run {
	struct top_source *source;
	const struct top_options *options;
	struct top *top;
	struct screen *screen; /* NULL: there is none */
	struct waiter waiter;
	struct processes_reader *reader;
	struct hierarchy hierarchy;
	struct processes processes, processes_before;
	int root_fd, signal_fd;
	uint64_t next_ns; /* when to look again, by CLOCK_BOOTTIME */
	uint64_t asked_ns; /* since when we wait for a look */
	uint64_t polls;
	uint64_t kept_ns; /* the reading that was recorded last */
	uint64_t cpu_ns, cpu_at_ns; /* what we used, when we last asked */
	bool is_over;
	bool is_failing; /* the last look: the message says why */
	bool shows_start; /* that there is nothing yet to be shown */
	uint64_t silent_s; /* for how long there is no answer, as the message says */
};

static void run_clear(struct run *run)
{
	screen_close(run->screen);
	top_free(run->top);
	processes_close(run->reader);
	processes_clear(&run->processes);
	processes_clear(&run->processes_before);
	hierarchy_clear(&run->hierarchy);
	if (run->root_fd >= 0)
		close(run->root_fd);
	if (run->signal_fd >= 0)
		close(run->signal_fd);
}

/* ---- readings ---- */

static int locate(void *context, const char *path, struct process_place *ret)
{
	struct run *run = context;

	return run->source->locate(run->source, path, ret);
}

static int open_reader(struct run *run, struct error *err)
{
	struct processes_options options = { .locate = locate,
					     .context = run,
					     .hierarchy = &run->hierarchy };
	int r;

	run->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (run->root_fd < 0)
		return error_set_errno(err, errno, "cannot open '/'");
	r = hierarchy_read(run->root_fd, &run->hierarchy, err);
	if (r < 0)
		return r;
	options.root_fd = run->root_fd;
	run->reader = processes_open(&options);
	return run->reader ? 0 : error_set_errno(err, ENOMEM, "cannot list the processes");
}

/* Missing data are reported below the list; jobs are still shown. */
static void look_at_processes(struct run *run)
{
	struct error err = {};
	struct processes now = {};
	int r = 0;

	if (!run->source->locate || !top_wants_processes(run->top))
		return;
	if (!run->reader)
		r = open_reader(run, &err);
	if (r == 0)
		r = processes_read(run->reader, &now, &err);
	if (r < 0) {
		snprintf(run->top->message, sizeof(run->top->message), "%.120s", err.text);
		return;
	}
	processes_clear(&run->processes_before);
	run->processes_before = run->processes;
	run->processes = now;
	run->top->processes = &run->processes;
	run->top->processes_before = run->processes_before.items ? &run->processes_before : NULL;
}

static void look_at_detail(struct run *run)
{
	const struct top_job *job = top_wants_detail(run->top);
	struct record *record = NULL;

	if (!job || !run->source->describe)
		return;
	if (run->source->describe(run->source, job->now->job.manager, job->now->job.id, &record,
				  NULL) == 0)
		top_set_detail(run->top, record);
}

static uint64_t cpu_used_ns(void)
{
	return clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static uint64_t max_age_ns(const struct run *run)
{
	return MIN(MAX(run->options->interval_ns / 2, FRESH_NS), OLDEST_NS);
}

/* Show each reading once: a key press may return the one that is already shown. */
static int keep_line(struct run *run, struct error *err)
{
	FILE *record = run->options->record;
	int r = 0;

	if (record && run->top->last.boot_ns != run->kept_ns) {
		off_t begin = ftello(record);

		r = top_line_write(run->top, true, record);
		if (r < 0) {
			/* Of a line that there was no room for nothing stays, since more may follow
			 * it. */
			__fpurge(record);
			clearerr(record);
			if (begin >= 0 && ftruncate(fileno(record), begin) == 0)
				(void)fseeko(record, begin, SEEK_SET);
		}
	}
	run->kept_ns = run->top->last.boot_ns;
	return r < 0 ? error_set_errno(err, r, "cannot write the recording") : 0;
}

/* A recording needs complete readings; a screen and the first reading for rates do not. */
static const struct tick *known(const struct run *run)
{
	bool is_written = run->options->form == TOP_FORM_LINES && run->top->last.boot_ns;

	return run->options->record || is_written ? NULL : &run->top->last;
}

static int look(struct run *run, uint64_t age_ns, struct error *err)
{
	struct tick tick = {};
	int r;

	run->asked_ns = clock_now_ns(CLOCK_BOOTTIME);
	r = run->source->read(run->source, age_ns, run->options->interval_ns + ENDED_MORE_NS,
			      known(run), &tick, err);

	if (r < 0)
		return r;
	look_at_processes(run);
	r = top_feed(run->top, &tick);
	if (r < 0)
		return error_set_errno(err, r, "cannot show the jobs");
	look_at_detail(run);
	if (run->source->position)
		run->top->position = run->source->position(run->source);
	return keep_line(run, err);
}

/* ---- screen ---- */

static int show_screen(struct run *run)
{
	_cleanup_(grid_freep) struct grid *grid = NULL;
	unsigned int columns, rows;

	screen_size(run->screen, &columns, &rows);
	grid = grid_new(columns, rows, run->options->is_ascii);
	if (!grid)
		return -ENOMEM;
	top_draw(run->top, grid);
	screen_show(run->screen, grid);
	return 0;
}

static int show_text(struct run *run)
{
	const struct top_options *o = run->options;
	unsigned int columns = o->rows ? o->columns : top_text_columns(run->top, o->columns);
	_cleanup_(grid_freep) struct grid *grid = grid_new(
		columns, o->rows ? o->rows : top_text_rows(run->top, columns), o->is_ascii);

	if (!grid)
		return -ENOMEM;
	if (o->rows)
		top_draw(run->top, grid);
	else
		top_draw_text(run->top, grid);
	if (run->polls && !o->has_no_legend)
		putchar('\n');
	grid_print_text(grid, stdout);
	return fflush(stdout) == 0 ? 0 : -errno;
}

static int show(struct run *run, struct error *err)
{
	int r = 0;

	if (run->screen)
		r = show_screen(run);
	else if (run->options->form == TOP_FORM_TEXT)
		r = show_text(run);
	else
		r = top_line_write(run->top, false, stdout);
	return r < 0 ? error_set_errno(err, r, "cannot show the jobs") : 0;
}

/* ---- keys ---- */

static void take_click(struct run *run, const struct screen_event *event)
{
	_cleanup_(grid_freep) struct grid *grid = NULL;
	unsigned int columns, rows;
	size_t found;

	screen_size(run->screen, &columns, &rows);
	grid = grid_new(columns, rows, run->options->is_ascii);
	if (!grid)
		return;
	if (top_find_column(run->top, grid, event->row, event->column, &found))
		top_click_column(run->top, found);
	else if (top_find_row(run->top, grid, event->row, &found))
		top_click_row(run->top, found);
}

/* Move a recording by the steps that keys asked for. */
static int move_recording(struct run *run, struct error *err)
{
	struct tick before = {}, tick = {};
	int by = run->top->step, r;

	run->top->step = 0;
	if (!by || !run->source->move)
		return 0;
	run->top->is_paused = true;
	r = run->source->move(run->source, by, &before, &tick, err);
	if (r < 0)
		return r;
	r = top_set(run->top, before.boot_ns ? &before : NULL, &tick);
	run->top->position = run->source->position(run->source);
	return r < 0 ? error_set_errno(err, r, "cannot show the jobs") : 0;
}

/* Returns 1 if keys were pressed. */
static int take_keys(struct run *run, struct error *err)
{
	struct screen_event event;
	int count = 0, r;

	for (; screen_read(run->screen, &event); count = 1) {
		if (event.is_click)
			take_click(run, &event);
		else
			top_press(run->top, event.key);
		if (top_arrange(run->top) < 0)
			return error_set_errno(err, ENOMEM, "cannot show the jobs");
	}
	run->is_over |= run->top->is_over;
	r = move_recording(run, err);
	return r < 0 ? r : count;
}

/* ---- wait ---- */

/* Wait until @until_ns, a key or a signal.  SIGWINCH interrupts it when the screen is resized. */
static void wait_until(struct run *run, uint64_t until_ns)
{
	struct pollfd fds[2] = { { run->signal_fd, POLLIN, 0 },
				 { run->screen ? STDIN_FILENO : -1, POLLIN, 0 } };
	uint64_t now_ns = clock_now_ns(CLOCK_BOOTTIME),
		 left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	const struct timespec timeout = { .tv_sec = (time_t)(left_ns / 1000000000),
					  .tv_nsec = (long)(left_ns % 1000000000) };

	if (ppoll(fds, ARRAY_SIZE(fds), &timeout, NULL) <= 0)
		return;
	if (fds[0].revents || fds[1].revents & (POLLHUP | POLLERR))
		run->is_over = true;
}

/* ---- while the agent has not answered ---- */

/* Say on the screen that the agent does not answer. */
static bool tell_silence(struct run *run)
{
	uint64_t silent_ns = clock_now_ns(CLOCK_BOOTTIME) - run->asked_ns,
		 silent_s = silent_ns / 1000000000;
	struct top *t = run->top;

	if (silent_ns < SILENCE_NS || silent_s == run->silent_s)
		return t->starting && silent_ns >= PATIENCE_NS && !run->shows_start;
	run->silent_s = silent_s;
	run->is_failing = true;
	if (t->starting)
		snprintf(t->message, sizeof(t->message), "%s for %llu s", t->starting,
			 (unsigned long long)silent_s);
	else
		snprintf(t->message, sizeof(t->message), "waiting for the %s for %llu s",
			 run->source->name, (unsigned long long)silent_s);
	return true;
}

/* Called while a request waits: keys work, and show the reading before. */
static int serve_keys(void *context)
{
	struct run *run = context;
	int r = 0;

	wait_until(run, 0); /* are there signals? */
	if (run->screen && !run->is_over)
		r = take_keys(run, NULL);
	if (run->screen && !run->is_over && r >= 0 && (tell_silence(run) || r > 0)) {
		run->shows_start = true;
		r = show(run, NULL);
	}
	return run->is_over ? -ECANCELED : MIN(r, 0);
}

/* ---- the main loop ---- */

static bool has_target(const struct run *run)
{
	for (size_t i = 0; i < run->top->job_count; i++) {
		if (top_shows(run->top, &run->top->jobs[i]))
			return true;
	}
	return false;
}

/* How old the second reading may be: FIRST_NS younger than the first, within bounds. */
static uint64_t second_age_ns(const struct run *run)
{
	uint64_t since_ns = clock_now_ns(CLOCK_BOOTTIME) - run->top->last.boot_ns;

	return MAX(MIN(since_ns - MIN(since_ns, FIRST_NS), OLDEST_NS), FRESH_NS);
}

static int look_twice(struct run *run, struct error *err)
{
	uint64_t then_ns;
	int r = look(run, FIRST_MOST_NS, err);

	if (r < 0)
		return r;
	/* Whether rates are known; a single sample has none. */
	then_ns = run->source->move
			  ? 0
			  : MAX(run->top->last.boot_ns, run->processes.boot_ns) + FIRST_NS;
	while (!run->is_over && clock_now_ns(CLOCK_BOOTTIME) < then_ns) {
		wait_until(run, then_ns);
		r = serve_keys(run);
	}
	r = run->is_over ? r : look(run, second_age_ns(run), err);
	return r == -ENODATA ? 0 : r; /* a recording of one tick */
}

/* Take two readings, so that the first screen has rates: the latest that the agent has already, and
 * a new one. */
static int look_first(struct run *run, struct error *err)
{
	int r;

	run->top->starting = run->source->starting;
	r = look_twice(run, err);
	run->top->starting = NULL;
	if (run->is_over)
		return 0;
	if (r < 0)
		return r;
	if (run->is_failing)
		*run->top->message = '\0';
	run->is_failing = false;
	if (run->options->target_count && !has_target(run))
		return error_set(err, -ENOENT,
				 "there is no job '%s' that lives, or it is not yours",
				 run->options->targets[0].id);
	return 0;
}

static bool is_enough(const struct run *run)
{
	return run->is_over || (run->options->count && run->polls >= run->options->count);
}

/* With a screen, wait for an agent that went away to come back. */
static int look_again(struct run *run, struct error *err)
{
	struct error why = {};
	int r = run->top->is_paused ? 0 : look(run, max_age_ns(run), &why);

	if (run->is_over)
		return 0;
	if (r == -ENODATA && run->screen) { /* a recording stays at its end */
		run->top->is_paused = true;
		return 0;
	}
	if (r == 0 && run->is_failing)
		*run->top->message = '\0';
	run->is_failing = r < 0;
	run->silent_s = 0;
	if (r < 0 && run->screen && r != -ENOMEM) {
		snprintf(run->top->message, sizeof(run->top->message), "%.120s", why.text);
		return 0;
	}
	if (r == -ENODATA)
		run->is_over = true;
	else if (r < 0 && err)
		*err = why;
	return r == -ENODATA ? 0 : r;
}

/* Without a screen, replay a recording without pauses. */
static uint64_t next_look(const struct run *run)
{
	return run->source->move && !run->screen
		       ? 0
		       : clock_now_ns(CLOCK_BOOTTIME) + run->options->interval_ns;
}

static int go_on(struct run *run, struct error *err)
{
	int r = 0;

	run->next_ns = next_look(run);
	for (run->polls = 1; r == 0 && !is_enough(run);) {
		wait_until(run, run->top->wants_reading ? 0 : run->next_ns);
		if (run->screen)
			r = MIN(take_keys(run, err), 0);
		if (r < 0 || run->is_over)
			break;
		if (run->top->wants_reading && !run->source->move)
			run->next_ns = 0;
		run->top->wants_reading = false;
		if (clock_now_ns(CLOCK_BOOTTIME) >= run->next_ns) {
			uint64_t cpu_ns = cpu_used_ns(), now_ns = clock_now_ns(CLOCK_BOOTTIME);
			struct rusage usage;

			run->next_ns = next_look(run);
			if (run->cpu_at_ns && now_ns > run->cpu_at_ns)
				run->top->own_cores = (double)(cpu_ns - run->cpu_ns) /
						      (double)(now_ns - run->cpu_at_ns);
			run->cpu_ns = cpu_ns;
			run->cpu_at_ns = now_ns;
			if (getrusage(RUSAGE_SELF, &usage) == 0)
				run->top->own_bytes = (uint64_t)usage.ru_maxrss * 1024;
			r = look_again(run, err);
			if (r == 0 && !run->is_over)
				r = show(run, err);
			run->polls++;
		} else if (run->screen) {
			r = show(run, err);
		}
	}
	return r;
}

static int begin(struct run *run, struct error *err)
{
	const struct top_options *o = run->options;

	run->top = top_new(o->rules);
	if (!run->top)
		return error_set_errno(err, ENOMEM, "cannot show the jobs");
	run->source->takes_sums = !o->rules || !classes_need_rows(o->rules);
	run->top->source = run->source->name;
	run->top->interval_ns = o->interval_ns;
	run->top->is_tree = o->is_tree;
	run->top->hides_idle = o->hides_idle;
	run->top->has_no_legend = o->has_no_legend;
	if (o->wanted)
		run->top->wanted = *o->wanted;
	run->top->target_count = MIN(o->target_count, (size_t)TOP_TARGETS_MAX);
	for (size_t i = 0; i < run->top->target_count; i++)
		run->top->targets[i] = o->targets[i];
	snprintf(run->top->user, sizeof(run->top->user), "%s", o->user ? o->user : "");
	snprintf(run->top->message, sizeof(run->top->message), "%s", o->notice ? o->notice : "");
	run->cpu_ns = cpu_used_ns();
	run->cpu_at_ns = clock_now_ns(CLOCK_BOOTTIME);
	run->signal_fd = endings_open();
	return run->signal_fd < 0 ? error_set_errno(err, run->signal_fd, "cannot watch for signals")
				  : 0;
}

int top_run(struct top_source *source, const struct top_options *options, struct error *err)
{
	_cleanup_(run_clear) struct run run = {
		.source = source, .options = options, .root_fd = -EBADF, .signal_fd = -EBADF
	};
	int r = begin(&run, err);

	if (r == 0 && options->form == TOP_FORM_SCREEN)
		r = screen_open(options->has_color, &run.screen, err);
	if (r == 0) {
		run.waiter =
			(struct waiter){ .fds = { run.signal_fd, run.screen ? STDIN_FILENO : -1 },
					 .timeout_ms = WAITING_MS,
					 .run = serve_keys,
					 .context = &run };
		if (run.source->set_waiter)
			run.source->set_waiter(run.source, &run.waiter);
		r = look_first(&run, err);
	}
	if (r == 0 && !run.is_over)
		r = show(&run, err);
	if (r == 0 && !run.is_over)
		r = go_on(&run, err);
	return r;
}
