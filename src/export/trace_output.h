/* SPDX-License-Identifier: MIT */
/* trace_output - what becomes of traced calls: a summary, or a file of all of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <stdio.h>

#include "basic/idmap.h"
#include "export/otlp.h"
#include "trace/callers.h"
#include "trace/names.h"
#include "trace/open_calls.h"

struct error;
struct reading;
struct sites;
struct trace_call;
struct trace_event;
struct traced;
struct tracer;

enum trace_format { TRACE_TEXT, TRACE_CHROME, TRACE_FOLDED, TRACE_NDJSON, TRACE_OTLP };

/* Begins with .format, .file, .job, .sites and .tells_losses, and for TRACE_OTLP .spans. */
struct trace_output {
	enum trace_format format;
	const char *file; /* NULL: stdout; of a command's summary stderr; of TRACE_OTLP also a URL
			   */
	const char *job; /* NULL: none is known */
	struct otlp_options spans; /* .manager, .id, .scope, .name and .slow_ns */
	const struct sites *sites;
	bool tells_losses; /* of lines: as last ones, instead of to stderr */
	struct callers callers;
	struct names names;
	struct open_calls open_calls;
	struct idmap functions; /* their names, where strings are these */
	FILE *out;
	struct chrome *chrome;
	struct folded *folded;
	struct trace_summary *summary;
	struct otlp *otlp;
	struct otlp_sender *sender; /* NULL: no URL */
	int64_t unix_offset_ns;
};

bool trace_output_is_url(const char *file);
const char *trace_format_name(size_t i); /* NULL: behind the last */
/* -EINVAL: there is no such format. */
int trace_format_parse(const char *name, enum trace_format *ret, struct error *err);

/* Before the first event.  @is_command: stdout is a command's. */
int trace_output_open(struct trace_output *o, bool is_command, struct error *err);
/* As a tracer_reader. */
int trace_output_take(void *context, const struct trace_event *event);
/* The same for calls that have not returned. */
int trace_output_take_open(void *context, const struct trace_event *event);
void trace_output_see(struct trace_output *o, pid_t pid); /* as callers_see() */
/* After the last one.  @kernel: what it counted of files; NULL: not measured. */
int trace_output_finish(struct trace_output *o, const struct tracer *tracer,
			const struct traced *traced, const struct reading *kernel,
			struct error *err);
/* Files that a set's library may be and that have nothing of it, on stderr. */
void trace_output_say_absent(const struct sites *sites);
void trace_output_clear(struct trace_output *o);

/*
 * A call as a line of JSON: "task", "rank" (null: none), "pid", "tid", "cpu", "timestamp_ns" (since
 * the epoch, of the entry:
 * @unix_offset_ns more than the call's own), "job", "probe" (SET:FUNCTION), "arguments", "bytes",
 * "duration_ns", "return"; what is not known is null.  @job may be NULL.
 * The line may stay in the file's buffer.
 */
int call_line_write(const struct trace_call *call, const char *job, int64_t unix_offset_ns,
		    FILE *out);
