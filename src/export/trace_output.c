/* SPDX-License-Identifier: MIT */
#include "export/trace_output.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/fnv.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "trace/tracing.h"
#include "export/chrome.h"
#include "export/folded.h"
#include "export/otlp_sender.h"
#include "model/document.h"
#include "model/rows.h"
#include "report/page.h"
#include "report/rows_text.h"
#include "trace/summary.h"

#define PART_BYTES (200U << 20) /* what viewers take */
#define SENDER_WAIT_NS UINT64_C(10000000000) /* for a collector, once the trace has ended */
#define MOVED_MAX_NS 1000000 /* of the clock, which is not worth a word */

static const char *const format_names[] = {
	[TRACE_TEXT] = "text",	   [TRACE_CHROME] = "chrome", [TRACE_FOLDED] = "folded",
	[TRACE_NDJSON] = "ndjson", [TRACE_OTLP] = "otlp",
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
			 "there is no format '%s'; there are text, chrome, folded, ndjson, otlp",
			 name);
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

bool trace_output_is_url(const char *file)
{
	return strncmp(file, "http://", 7) == 0 || strncmp(file, "https://", 8) == 0;
}

static int write_request(void *context, char *request, size_t length, size_t spans UNUSED)
{
	FILE *out = context;
	const bool is_whole = fwrite(request, 1, length, out) == length && fputc('\n', out) != EOF;

	free(request);
	return is_whole ? 0 : -EIO;
}

/* To a collector, or as lines to .out. */
static int open_spans(struct trace_output *o, struct error *err)
{
	struct otlp_options options = o->spans;
	char host[HOST_NAME_MAX + 1] = "";

	(void)gethostname(host, sizeof(host) - 1);
	options.host = host;
	options.start_ns = clock_now_ns(CLOCK_MONOTONIC);
	options.unix_offset_ns = o->unix_offset_ns;
	options.take = o->sender ? otlp_sender_put : write_request;
	options.context = o->sender ? (void *)o->sender : o->out;
	return otlp_open(&options, &o->otlp, err);
}

int trace_output_open(struct trace_output *o, bool is_command, struct error *err)
{
	o->unix_offset_ns = clock_unix_offset_ns();
	if (o->format == TRACE_CHROME)
		return open_chrome(o, err);
	if (o->format == TRACE_FOLDED)
		o->folded = folded_new();
	if (o->format == TRACE_TEXT)
		o->summary = trace_summary_new();
	if ((o->format == TRACE_FOLDED && !o->folded) || (o->format == TRACE_TEXT && !o->summary))
		return error_set_errno(err, ENOMEM, "cannot trace");
	if (o->format == TRACE_OTLP && o->file && trace_output_is_url(o->file)) {
		int r = otlp_sender_open(o->file, &o->sender, err);

		return r < 0 ? r : open_spans(o, err);
	}
	o->out = o->format == TRACE_TEXT && is_command ? stderr : stdout;
	if (o->file)
		o->out = fopen(o->file, "we");
	if (!o->out)
		return error_set_errno(err, errno, "cannot write '%s'", o->file);
	return o->format == TRACE_OTLP ? open_spans(o, err) : 0;
}

static void put_known(struct document *doc, const char *key, bool is_known, int64_t number)
{
	document_key(doc, key);
	if (is_known)
		document_signed(doc, number);
	else
		document_null(doc);
}

int call_line_write(const struct trace_call *call, const char *job, int64_t unix_offset_ns,
		    FILE *out)
{
	_cleanup_(document_freep) struct document *doc = document_new_json(out,
									   DOCUMENT_LINE_OF_MANY);
	const struct trace_process *process = call->process;
	char probe[2 * PROBE_NAME_MAX + PROBE_PATTERN_MAX];

	if (!doc)
		return -ENOMEM;
	snprintf(probe, sizeof(probe), "%s:%s", call->set->name, call->name);
	document_begin_map(doc);
	document_put_string(doc, "task", process->task);
	put_known(doc, "rank", process->rank >= 0, process->rank);
	document_put_unsigned(doc, "pid", process->pid);
	document_put_unsigned(doc, "tid", call->tid);
	document_put_unsigned(doc, "cpu", call->cpu);
	document_put_unsigned(doc, "timestamp_ns", call->start_ns + (uint64_t)unix_offset_ns);
	document_put_string(doc, "job", job);
	document_put_string(doc, "probe", probe);
	document_begin_flat_map_of(doc, "arguments");
	call_format_arguments(call, doc);
	document_end_map(doc);
	put_known(doc, "bytes", call->has_bytes, (int64_t)call->bytes);
	put_known(doc, "duration_ns", call->has_returned, (int64_t)call->duration_ns);
	put_known(doc, "return", call->has_returned, call->result);
	if (call->withheld && !call->has_returned)
		document_put_string(doc, "return_not_traced", call->withheld);
	document_end_map(doc);
	return document_finish(doc);
}

/* What tells functions of one probe apart. */
static uint64_t hash_function(uint32_t pid, size_t row, const int64_t *keys)
{
	uint64_t hash = fnv_bytes(FNV_BEGIN, &pid, sizeof(pid));

	hash = fnv_bytes(hash, &row, sizeof(row));
	return fnv_bytes(hash, keys, PROBE_KEYS_MAX * sizeof(*keys));
}

/* The string of its first call is the name of a function. */
static int take_name(struct trace_output *o, uint32_t row, const struct trace_call *call)
{
	const struct probe *probe = call->probe;
	int64_t keys[PROBE_KEYS_MAX] = {};
	uint64_t hash;
	char *name;

	if (probe->shown != PROBE_SHOWN_TEXT || !call->text)
		return 0;
	for (size_t i = 0; i < probe->key_count; i++)
		keys[i] = call->have & 1U << probe->keys[i] ? call->values[probe->keys[i]] : 0;
	hash = hash_function(call->process->pid, row, keys);
	if (idmap_get(&o->functions, hash))
		return 0; /* on another CPU */
	name = strdup(call->text);
	if (name && idmap_put(&o->functions, hash, name) == 0)
		return 0;
	free(name);
	return -ENOMEM;
}

void trace_output_see(struct trace_output *o, pid_t pid)
{
	callers_see(&o->callers, (uint32_t)pid);
}

int trace_output_take(void *context, const struct trace_event *event)
{
	struct trace_output *o = context;
	const struct site_row *row = o->sites->rows[event->row];
	struct trace_call call;

	call_decode(event, row->set, row->probe, row->name, &call);
	call.process = callers_get(&o->callers, event->tgid);
	call.names = &o->names;
	call.withheld = row->withheld;
	if (!call.process || names_add(&o->names, &call) < 0)
		return -ENOMEM;
	if (row->probe->is_silent)
		return 0;
	if (o->chrome)
		return chrome_add(o->chrome, &call, NULL);
	if (o->folded)
		return folded_add(o->folded, &call);
	if (o->summary)
		return take_name(o, event->row, &call) < 0
			       ? -ENOMEM
			       : trace_summary_add_call(o->summary, &call);
	if (o->otlp)
		return otlp_add(o->otlp, &call);
	return call_line_write(&call, o->job, o->unix_offset_ns, o->out);
}

int trace_output_take_open(void *context, const struct trace_event *event)
{
	struct trace_output *o = context;
	const struct site_row *row = o->sites->rows[event->row];
	const struct trace_process *process = callers_get(&o->callers, event->tgid);

	if (!process)
		return -ENOMEM;
	return row->probe->is_silent ? 0 : open_calls_add(&o->open_calls, event, row, process);
}

/* What its sums are kept apart by: a name, or else @number; NULL: nothing. */
static const char *label_of(const struct trace_output *o, const struct site_row *row,
			    const struct trace_process *process, const struct trace_sums_key *key,
			    char *number, size_t size)
{
	const char *capture, *name;

	if (!row->probe->key_count)
		return NULL;
	capture = row->probe->captures[row->probe->keys[0]].name;
	name = names_find(&o->names, row->set, capture, process, key->keys[0]);
	snprintf(number, size, "0x%llx", (unsigned long long)key->keys[0]);
	return name ? name : number;
}

static int add_sums(void *context, const struct trace_sums_key *key, const struct trace_sums *sums)
{
	struct trace_output *o = context;
	const struct site_row *row = o->sites->rows[key->row];
	const struct trace_process *process = callers_get(&o->callers, key->tgid);
	const int64_t keys[PROBE_KEYS_MAX] = { key->keys[0], key->keys[1] };
	const char *name = NULL, *label = NULL;
	char number[24];

	if (!process)
		return -ENOMEM;
	if (row->probe->shown == PROBE_SHOWN_TEXT)
		name = idmap_get(&o->functions, hash_function(key->tgid, key->row, keys));
	else
		label = label_of(o, row, process, key, number, sizeof(number));
	return trace_summary_add_sums(o->summary, process, row->probe, name ? name : row->name,
				      label, sums);
}

/* What is between what happened and what is shown. */
static void add_losses(const struct trace_output *o, const struct tracer *tracer, struct rows *rows)
{
	const char *label = "not counted";

	rows_part(rows, "Not counted");
	rows_gap(rows);
	for (size_t i = 0; i < o->sites->row_count; i++) {
		const struct site_row *row = o->sites->rows[i];
		const char *between = ": ";
		struct trace_counts c;

		if (!row->site_count || tracer_get_counts(tracer, i, &c) < 0 ||
		    !(row->is_dropped || c.dropped + c.not_summed + c.too_deep + c.left))
			continue;
		const struct {
			unsigned long long count;
			const char *what, *why;
		} losses[] = {
			{ c.dropped, "event", "that came too fast" },
			{ c.not_summed, "call", "for which there was no room" },
			{ c.too_deep, "call", "inside too many others" },
			{ c.left, "call", "that never returned" },
		};

		rows_begin(rows, ROWS_ALL, label);
		label = NULL;
		rows_say(rows, "", "%s", row->name);
		if (row->is_dropped) {
			rows_say(rows, between, "calls from when it cost more than the budget");
			between = ", ";
		}
		for (size_t n = 0; n < ARRAY_SIZE(losses); n++) {
			if (!losses[n].count)
				continue;
			rows_say(rows, between, "%llu %s%s %s", losses[n].count, losses[n].what,
				 losses[n].count == 1 ? "" : "s", losses[n].why);
			between = ", ";
		}
	}
}

void trace_output_say_absent(const struct sites *sites)
{
	size_t found = 0;

	for (size_t i = 0; i < sites->set_count; i++) {
		const struct probe_set *set = sites->sets[i];
		size_t n = 0;

		while (n < sites->row_count && sites->rows[n]->set != set)
			n++;
		if (n == sites->row_count && set->library_count == 1 &&
		    strcmp(set->name, "ad-hoc") == 0)
			fprintf(stderr, "jobmeter trace: no traced process has a file '%s'\n",
				set->libraries[0]->patterns[0]);
	}

	/* Rows of a file are neighbours, and among these those of a set. */
	for (size_t i = 0; i < sites->row_count; i++) {
		const struct site_row *row = sites->rows[i];

		found += row->site_count;
		if (i + 1 < sites->row_count && sites->rows[i + 1]->file == row->file &&
		    sites->rows[i + 1]->set == row->set)
			continue;
		if (row->file && !found)
			fprintf(stderr,
				"jobmeter trace: '%s' has none of the probes of the set '%s'%s%s%s\n",
				row->file->path, row->set->name,
				row->set->probe_count == 1 ? ": " : "",
				row->set->probe_count == 1 ? row->probe->name : "",
				row->file->is_stripped
					? " (it is stripped, or chooses it when it starts: IFUNC)"
					: "");
		found = 0;
	}
}

/* What the programs may call, and a higher level would show. */
static void add_missed(const struct sites *sites, struct rows *rows)
{
	enum probe_level level = PROBE_LEVEL_DEFAULT;

	rows_begin(rows, ROWS_ALL, "not probed");
	for (size_t i = 0; i < sites->missed_count; i++) {
		level = MAX(level, sites->missed[i]->level);
		rows_say(rows, ", ", "%s%s", i ? "" : "at this level: ", sites->missed[i]->name);
	}
	if (sites->missed_count)
		rows_say(rows, " ", "(--level %s)", probe_levels[level]);
}

static void add_costs(const struct tracer *tracer, struct rows *rows)
{
	const struct attach_costs *costs = tracer_costs(tracer);

	rows_part(rows, "Cost");
	rows_gap(rows);
	rows_line(
		rows, ROWS_ALL, "cost",
		"an empty probe takes %.1f us, %.1f us more with the return, and %.1f us if the kernel must single-step the first instruction (measured here, at the start). Of a time with ≤, half or more may be the probe's own",
		(double)costs->emulated_ns / 1e3, (double)costs->return_ns / 1e3,
		(double)costs->stepped_ns / 1e3);
}

static int print_summary(struct trace_output *o, const struct tracer *tracer,
			 const struct traced *traced, const struct reading *kernel,
			 struct error *err)
{
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct page page = page_for(o->out);
	bool is_any = o->open_calls.count;
	int r = tracer_visit_sums(tracer, add_sums, o);

	if (r < 0)
		return error_set_errno(err, r, "cannot read what was counted");
	for (size_t i = 0; i < o->sites->row_count; i++) {
		const struct site_row *row = o->sites->rows[i];
		struct trace_counts c;

		if (tracer_get_counts(tracer, i, &c) < 0)
			continue;
		is_any |= c.hits > c.outside;
		trace_summary_limit(o->summary, row->probe, row->name,
				    &(struct trace_limits){ .withheld = row->withheld,
							    .is_short = row->is_dropped ||
									c.not_summed + c.too_deep,
							    .own_ns = tracer_own_ns(tracer, row) });
	}
	open_calls_rows(&o->open_calls, rows);
	trace_summary_rows(o->summary, traced->end_ns - traced->start_ns, is_any, kernel, rows);
	add_losses(o, tracer, rows);
	add_missed(o->sites, rows);
	add_costs(tracer, rows);
	rows_text(rows, ROWS_TEXT, &page);
	return 0;
}

/* Of a file of calls: each reason for which returns are not in it. */
static void say_withheld(const struct trace_output *o)
{
	const char *before = NULL;

	for (size_t i = 0; i < o->sites->row_count; i++) {
		const char *why = o->sites->rows[i]->withheld;

		if (why && (!before || strcmp(before, why) != 0))
			fprintf(stderr,
				"jobmeter trace: returns not traced, of '%s' and others: %s\n",
				o->sites->rows[i]->name, why);
		before = why ? why : before;
	}
}

static void say_open_calls(struct trace_output *o)
{
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct page page = page_for(stderr);

	open_calls_rows(&o->open_calls, rows);
	rows_text(rows, ROWS_TEXT, &page);
}

/* Of a file of calls: what is not in it is said. */
static void say_losses(const struct trace_output *o, const struct tracer *tracer)
{
	say_withheld(o);
	for (size_t i = 0; i < o->sites->row_count; i++) {
		const struct site_row *row = o->sites->rows[i];
		const bool is_line = o->format == TRACE_NDJSON && o->tells_losses; /* of no call */
		unsigned long long missing;
		struct trace_counts c;

		if (tracer_get_counts(tracer, i, &c) < 0)
			continue;
		missing = c.dropped + c.too_deep;
		if (is_line && (missing || row->is_dropped))
			fprintf(o->out,
				"{\"probe\": \"%s:%s\", \"missing\": %llu, \"over_budget\": %s}\n",
				row->set->name, row->name, missing,
				row->is_dropped ? "true" : "false");
		else if (!is_line && missing)
			fprintf(stderr,
				"jobmeter trace: %llu of %llu calls of '%s' are missing: "
				"they came faster than they could be read\n",
				missing, c.made + c.too_deep, row->name);
	}
}

static void say_sent(const struct trace_output *o)
{
	struct otlp_sender_counts c = {};

	otlp_sender_finish(o->sender, SENDER_WAIT_NS, &c);
	fprintf(stderr, "jobmeter trace: %" PRIu64 " spans sent to '%s'\n", c.sent, o->file);
	if (c.rejected + c.refused + c.dropped + c.unsent)
		fprintf(stderr,
			"jobmeter trace: %" PRIu64 " spans are missing: %" PRIu64
			" not taken, %" PRIu64 " refused, "
			"%" PRIu64 " when the queue was full, %" PRIu64
			" when the time was up%s%s\n",
			c.rejected + c.refused + c.dropped + c.unsent, c.rejected, c.refused,
			c.dropped, c.unsent, *c.why ? "; the last reason: " : "", c.why);
}

static int finish_spans(struct trace_output *o, const struct traced *traced, struct error *err)
{
	const int64_t offset_ns = clock_unix_offset_ns();
	const int64_t moved_ns = offset_ns - o->unix_offset_ns;
	struct otlp_counts c;
	int r = otlp_finish(o->otlp, traced->end_ns, &c);

	if (r < 0)
		return error_set_errno(err, r, "cannot write the trace");
	fprintf(stderr, "jobmeter trace: %" PRIu64 " of %" PRIu64 " calls became spans",
		c.call_spans, c.calls);
	if (c.call_spans < c.calls)
		fprintf(stderr,
			"; the others are not of files, nor collective, did not fail and took less "
			"than %.3g ms",
			(double)o->spans.slow_ns / 1e6);
	fputc('\n', stderr);
	if (c.misplaced)
		fprintf(stderr,
			"jobmeter trace: %" PRIu64 " spans stand outside their callers: too many "
			"waited for these to return\n",
			c.misplaced);
	if (llabs(moved_ns) > MOVED_MAX_NS)
		fprintf(stderr,
			"jobmeter trace: the clock was set by %.3f s meanwhile: times are by the "
			"clock as it was before\n",
			(double)moved_ns / 1e9);
	if (o->sender)
		say_sent(o);
	return 0;
}

int trace_output_finish(struct trace_output *o, const struct tracer *tracer,
			const struct traced *traced, const struct reading *kernel,
			struct error *err)
{
	unsigned int parts = 0;
	int r = 0;

	trace_output_say_absent(o->sites);
	if (traced->files_left_out)
		fprintf(stderr,
			"jobmeter trace: %zu programs and libraries were not probed: there are more "
			"than %d, or too many probes in them\n",
			traced->files_left_out, SITES_FILES_MAX);
	if (o->chrome)
		r = chrome_finish(o->chrome, &parts, err);
	if (o->chrome && r == 0 && parts > 1)
		fprintf(stderr,
			"jobmeter trace: '%s' and %u more files have the calls, of %u MiB each\n",
			o->file, parts - 1, PART_BYTES >> 20);
	if (o->folded && !folded_has_any(o->folded))
		fputs("jobmeter trace: no call has a time, so that no stack is written; --format text "
		      "has the counts\n",
		      stderr);
	if (o->folded)
		r = folded_write(o->folded, o->out);
	else if (o->otlp)
		r = finish_spans(o, traced, err);
	else if (o->summary)
		return print_summary(o, tracer, traced, kernel, err);
	say_open_calls(o);
	say_losses(o, tracer);
	if (r == 0 && o->out && fflush(o->out) != 0)
		r = error_set_errno(err, errno, "cannot write");
	return r;
}

void trace_output_clear(struct trace_output *o)
{
	size_t at = 0;
	char *name;

	chrome_free(o->chrome);
	folded_free(o->folded);
	trace_summary_free(o->summary);
	otlp_free(o->otlp);
	otlp_sender_free(o->sender);
	if (o->out && o->file)
		fclose(o->out);
	open_calls_clear(&o->open_calls);
	callers_clear(&o->callers);
	names_clear(&o->names);
	while ((name = idmap_next(&o->functions, &at)))
		free(name);
	idmap_clear(&o->functions);
}
