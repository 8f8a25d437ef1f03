/* SPDX-License-Identifier: MIT */
#include "export/trace_output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "trace/tracing.h"
#include "export/call_line.h"
#include "export/chrome.h"
#include "export/folded.h"
#include "model/rows.h"
#include "report/page.h"
#include "report/rows_text.h"
#include "trace/summary.h"

#define PART_BYTES (200U << 20) /* what viewers take */

static const char *const format_names[] = {
	[TRACE_TEXT] = "text", [TRACE_CHROME] = "chrome", [TRACE_FOLDED] = "folded", [TRACE_NDJSON] = "ndjson"
};

const char *trace_format_name(size_t i)
{
	return i < ARRAY_SIZE(format_names) ? format_names[i] : NULL;
}

int trace_format_parse(const char *name, enum trace_format *ret, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(format_names); i++) {
		if (strcmp(format_names[i], name) == 0) {
			*ret = (enum trace_format)i;
			return 0;
		}
	}
	return error_set(err, -EINVAL,
			 "there is no format '%s'; there are text, chrome, folded, ndjson", name);
}

static int open_chrome(struct trace_output *o, struct error *err)
{
	const struct chrome_options options = {
		.path = o->file,
		.part_bytes = PART_BYTES,
		.start_ns = clock_now_ns(CLOCK_MONOTONIC),
		.start_unix_ns = clock_now_ns(CLOCK_REALTIME),
		.job = o->job,
	};

	return chrome_open(&options, &o->chrome, err);
}

int trace_output_open(struct trace_output *o, bool is_command, struct error *err)
{
	o->unix_offset_ns = (int64_t)(clock_now_ns(CLOCK_REALTIME) - clock_now_ns(CLOCK_MONOTONIC));
	if (o->format == TRACE_CHROME)
		return open_chrome(o, err);
	if (o->format == TRACE_FOLDED)
		o->folded = folded_new();
	if (o->format == TRACE_TEXT)
		o->summary = trace_summary_new();
	if ((o->format == TRACE_FOLDED && !o->folded) || (o->format == TRACE_TEXT && !o->summary))
		return error_set_errno(err, ENOMEM, "cannot trace");
	o->out = o->format == TRACE_TEXT && is_command ? stderr : stdout;
	if (o->file)
		o->out = fopen(o->file, "we");
	return o->out ? 0 : error_set_errno(err, errno, "cannot write '%s'", o->file);
}

int trace_output_take(void *context, const struct trace_event *event)
{
	struct trace_output *o = context;
	const struct site_row *row = o->sites->rows[event->row];
	struct trace_call call;

	o->calls++;
	call_decode(event, row->set, row->probe, row->name, &call);
	call.process = callers_get(&o->callers, event->tgid);
	if (!call.process)
		return -ENOMEM;
	if (o->chrome)
		return chrome_add(o->chrome, &call, NULL);
	if (o->folded)
		return folded_add(o->folded, &call);
	if (o->summary)
		return trace_summary_add_call(o->summary, &call);
	return call_line_write(&call, o->job, o->unix_offset_ns, o->out);
}

static int add_sums(void *context, const struct trace_sums_key *key, const struct trace_sums *sums)
{
	struct trace_output *o = context;
	const struct site_row *row = o->sites->rows[key->row];
	const struct trace_process *process = callers_get(&o->callers, key->tgid);

	return process ? trace_summary_add_sums(o->summary, process, row->probe, row->name, sums)
		       : -ENOMEM;
}

/* What is between what happened and what is shown. */
static void add_losses(const struct trace_output *o, const struct tracer *tracer, struct rows *rows)
{
	rows_part(rows, "Not counted");
	for (size_t i = 0; i < o->sites->row_count; i++) {
		const struct site_row *row = o->sites->rows[i];
		struct trace_counts c;

		if (!row->site_count || tracer_get_counts(tracer, i, &c) < 0)
			continue;
		rows_begin(rows, ROWS_ALL, row->name);
		if (row->is_dropped)
			rows_say(rows, ", ", "calls from when it cost more than the budget");
		if (c.dropped)
			rows_say(rows, ", ", "%llu events that came too fast", c.dropped);
		if (c.not_summed)
			rows_say(rows, ", ", "%llu calls for which there was no room",
				 c.not_summed);
		if (c.too_deep)
			rows_say(rows, ", ", "%llu calls inside too many others", c.too_deep);
		if (c.left)
			rows_say(rows, ", ", "%llu calls that never returned", c.left);
	}
}

static void add_costs(const struct tracer *tracer, struct rows *rows)
{
	const struct attach_costs *costs = tracer_costs(tracer);

	rows_part(rows, "Cost");
	rows_line(
		rows, ROWS_ALL, "An empty probe",
		"takes %.1f us, %.1f us more with the return, and %.1f us where the function begins with an instruction that the kernel steps over (measured here, at the start)",
		(double)costs->emulated_ns / 1e3, (double)costs->return_ns / 1e3,
		(double)costs->stepped_ns / 1e3);
}

static int print_summary(struct trace_output *o, const struct tracer *tracer,
			 const struct traced *traced, const struct reading *kernel,
			 struct error *err)
{
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct page page = page_for(o->out);
	int r = tracer_visit_sums(tracer, add_sums, o);

	if (r < 0)
		return error_set_errno(err, r, "cannot read what was counted");
	trace_summary_rows(o->summary, traced->end_ns - traced->start_ns, kernel, rows);
	add_losses(o, tracer, rows);
	add_costs(tracer, rows);
	rows_text(rows, ROWS_TEXT, &page);
	return 0;
}

/* A line that is no call. */
static void tell_losses(const struct trace_output *o, const struct site_row *row,
			const struct trace_counts *c)
{
	if (c->dropped + c->too_deep || row->is_dropped)
		fprintf(o->out, "{\"probe\": \"%s:%s\", \"missing\": %llu, \"over_budget\": %s}\n",
			row->set->name, row->name, c->dropped + c->too_deep,
			row->is_dropped ? "true" : "false");
}

/* Of a file of calls: what is not in it is said. */
static void say_losses(const struct trace_output *o, const struct tracer *tracer)
{
	for (size_t i = 0; i < o->sites->row_count; i++) {
		struct trace_counts c;

		if (tracer_get_counts(tracer, i, &c) < 0)
			continue;
		if (o->format == TRACE_NDJSON && o->tells_losses)
			tell_losses(o, o->sites->rows[i], &c);
		else if (c.dropped + c.too_deep)
			fprintf(stderr,
				"jobmeter trace: %llu of %llu calls of '%s' are missing: "
				"they came faster than they could be read\n",
				c.dropped + c.too_deep, c.made + c.too_deep,
				o->sites->rows[i]->name);
	}
}

int trace_output_finish(struct trace_output *o, const struct tracer *tracer,
			const struct traced *traced, const struct reading *kernel,
			struct error *err)
{
	unsigned int parts;
	int r = 0;

	if (o->chrome)
		r = chrome_finish(o->chrome, &parts, err);
	else if (o->folded)
		r = folded_write(o->folded, o->out);
	else if (o->summary)
		return print_summary(o, tracer, traced, kernel, err);
	say_losses(o, tracer);
	if (r == 0 && o->out && fflush(o->out) != 0)
		r = error_set_errno(err, errno, "cannot write");
	return r;
}

void trace_output_clear(struct trace_output *o)
{
	chrome_free(o->chrome);
	folded_free(o->folded);
	trace_summary_free(o->summary);
	if (o->out && o->file)
		fclose(o->out);
	callers_clear(&o->callers);
}
