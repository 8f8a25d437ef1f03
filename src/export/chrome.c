/* SPDX-License-Identifier: MIT */
#include "export/chrome.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/idmap.h"
#include "model/document.h"
#include "trace/call.h"

#define US_PLACES 3 /* ns, as decimals of a microsecond */
#define CALLS_A_CHECK 16 /* of the file's size, which is a system call */

struct chrome {
	char *path, *job; /* NULL: stdout, none */
	struct chrome_options options;
	unsigned int part, calls;
	FILE *out;
	struct document *doc;
	bool has_run;
	uint64_t run; /* its processes are numbered by their ranks */
	struct idmap threads, processes; /* that this file has named; the value is no object */
};

/* "x-2.json" of "x.json"; the caller frees. */
static char *chrome_part_path(const char *path, unsigned int part)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	size_t stem = dot && (!slash || dot > slash + 1) ? (size_t)(dot - path) : strlen(path);
	char *made;

	if (part == 1)
		return strdup(path);
	return asprintf(&made, "%.*s-%u%s", (int)stem, path, part, path + stem) < 0 ? NULL : made;
}

static int chrome_begin_part(struct chrome *c, struct error *err)
{
	_cleanup_free_ char *path = c->path ? chrome_part_path(c->path, c->part + 1) : NULL;

	if (c->path && !path)
		return -ENOMEM;
	c->out = path ? fopen(path, "we") : stdout;
	if (!c->out)
		return error_set_errno(err, errno, "cannot write '%s'", path);
	c->doc = document_new_json(c->out, DOCUMENT_INDENTED);
	if (!c->doc)
		return -ENOMEM;
	c->part++;
	document_begin_map(c->doc);
	document_put_string(c->doc, "displayTimeUnit", "ns");
	document_begin_flat_map_of(c->doc, "otherData");
	document_put_string(c->doc, "made_by", "jobmeter " JOBMETER_VERSION);
	if (c->job)
		document_put_string(c->doc, "job", c->job);
	document_put_time(c->doc, "start", c->options.start_unix_ns);
	document_put_unsigned(c->doc, "part", c->part);
	document_end_map(c->doc);
	document_begin_list_of(c->doc, "traceEvents");
	return 0;
}

static int chrome_end_part(struct chrome *c, struct error *err)
{
	int r;

	document_end_list(c->doc);
	document_end_map(c->doc);
	r = document_finish(c->doc);
	c->doc = document_free(c->doc);
	if (c->out != stdout && fclose(c->out) != 0 && r == 0)
		r = -errno;
	c->out = NULL;
	idmap_clear(&c->threads);
	idmap_clear(&c->processes);
	return r < 0 ? error_set_errno(err, r, "cannot write the trace") : 0;
}

int chrome_open(const struct chrome_options *options, struct chrome **ret, struct error *err)
{
	_cleanup_(chrome_freep) struct chrome *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->options = *options;
	if ((options->path && !(c->path = strdup(options->path))) ||
	    (options->job && !(c->job = strdup(options->job))))
		return -ENOMEM;
	r = chrome_begin_part(c, err);
	if (r == 0)
		*ret = TAKE_PTR(c);
	return r;
}

/* The rank, of the run that came first; all others have their own numbers, which are no
 * rank's. */
static uint32_t chrome_process_id(struct chrome *c, const struct trace_process *process)
{
	if (process->rank >= 0 && !c->has_run) {
		c->has_run = true;
		c->run = process->run;
	}
	return process->rank >= 0 && process->run == c->run ? (uint32_t)process->rank
							    : process->pid;
}

static void chrome_write_name(struct chrome *c, const char *what, const struct trace_call *call,
			      const char *name)
{
	document_begin_flat_map(c->doc);
	document_put_string(c->doc, "name", what);
	document_put_string(c->doc, "ph", "M");
	document_put_unsigned(c->doc, "pid", chrome_process_id(c, call->process));
	document_put_unsigned(c->doc, "tid", call->tid);
	document_begin_flat_map_of(c->doc, "args");
	document_put_string(c->doc, "name", name);
	document_end_map(c->doc);
	document_end_map(c->doc);
}

static int chrome_name_track(struct chrome *c, const struct trace_call *call)
{
	const struct trace_process *process = call->process;
	uint32_t id = chrome_process_id(c, process);
	char name[64];

	if (!idmap_get(&c->processes, id)) {
		if (idmap_put(&c->processes, id, c) < 0)
			return -ENOMEM;
		if (process->rank >= 0)
			snprintf(name, sizeof(name), "rank %d (%s)", process->rank, process->task);
		chrome_write_name(c, "process_name", call,
				  process->rank >= 0 ? name : process->task);
	}
	if (!idmap_get(&c->threads, call->tid)) {
		if (idmap_put(&c->threads, call->tid, c) < 0)
			return -ENOMEM;
		snprintf(name, sizeof(name), "thread %u of process %u", call->tid, process->pid);
		chrome_write_name(c, "thread_name", call, name);
	}
	return 0;
}

static void chrome_write_call(struct chrome *c, const struct trace_call *call)
{
	struct document *doc = c->doc;

	document_begin_flat_map(doc);
	document_put_string(doc, "name", call->name);
	document_put_string(doc, "cat", call->set->name);
	document_put_string(doc, "ph", call->has_returned ? "X" : "i");
	if (!call->has_returned)
		document_put_string(doc, "s", "t"); /* of its thread */
	document_put_unsigned(doc, "pid", chrome_process_id(c, call->process));
	document_put_unsigned(doc, "tid", call->tid);
	document_key(doc, "ts");
	document_decimal(doc, call->start_ns - c->options.start_ns, US_PLACES);
	if (call->has_returned) {
		document_key(doc, "dur");
		document_decimal(doc, call->duration_ns, US_PLACES);
	}
	document_begin_flat_map_of(doc, "args");
	call_format_arguments(call, doc);
	if (call->has_bytes)
		document_put_unsigned(doc, "bytes", call->bytes);
	if (call->has_returned)
		document_put_signed(doc, "return", call->result);
	document_put_unsigned(doc, "cpu", call->cpu);
	document_end_map(doc);
	document_end_map(doc);
}

int chrome_add(struct chrome *c, const struct trace_call *call, struct error *err)
{
	int r = 0;

	if (call->start_ns < c->options.start_ns)
		return 0; /* begun before the trace did */
	if (c->path && ++c->calls % CALLS_A_CHECK == 0 &&
	    (uint64_t)ftello(c->out) >= c->options.part_bytes) {
		r = chrome_end_part(c, err);
		if (r == 0)
			r = chrome_begin_part(c, err);
	}
	if (r == 0)
		r = chrome_name_track(c, call);
	if (r == 0)
		chrome_write_call(c, call);
	return r;
}

int chrome_finish(struct chrome *c, unsigned int *ret_parts, struct error *err)
{
	*ret_parts = c->part;
	return chrome_end_part(c, err);
}

struct chrome *chrome_free(struct chrome *c)
{
	if (!c)
		return NULL;
	document_free(c->doc);
	if (c->out && c->out != stdout)
		fclose(c->out);
	idmap_clear(&c->threads);
	idmap_clear(&c->processes);
	free(c->path);
	free(c->job);
	free(c);
	return NULL;
}

void chrome_freep(struct chrome **c)
{
	*c = chrome_free(*c);
}
