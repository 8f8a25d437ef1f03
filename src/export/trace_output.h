/* SPDX-License-Identifier: MIT */
/* trace_output - what becomes of traced calls: a summary, or a file of all of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "trace/callers.h"

struct error;
struct reading;
struct sites;
struct trace_event;
struct traced;
struct tracer;

enum trace_format { TRACE_TEXT, TRACE_CHROME, TRACE_FOLDED, TRACE_NDJSON };

struct trace_output { /* begins with .format, .file, .job, .sites and .tells_losses */
	enum trace_format format;
	const char *file; /* NULL: stdout; of a command's summary stderr */
	const char *job; /* NULL: none is known */
	const struct sites *sites;
	bool tells_losses; /* of lines: as last ones, instead of to stderr */
	struct callers callers;
	FILE *out;
	struct chrome *chrome;
	struct folded *folded;
	struct trace_summary *summary;
	int64_t unix_offset_ns;
	uint64_t calls; /* that were taken */
};

const char *trace_format_name(size_t i); /* NULL: behind the last */
/* -EINVAL: there is no such format. */
int trace_format_parse(const char *name, enum trace_format *ret, struct error *err);

/* Before the first event.  @is_command: stdout is a command's. */
int trace_output_open(struct trace_output *o, bool is_command, struct error *err);
/* As a tracer_reader. */
int trace_output_take(void *context, const struct trace_event *event);
/* After the last one.  @kernel: what it counted of files; NULL: not measured. */
int trace_output_finish(struct trace_output *o, const struct tracer *tracer,
			const struct traced *traced, const struct reading *kernel,
			struct error *err);
void trace_output_clear(struct trace_output *o);
