/* SPDX-License-Identifier: MIT */
/*
 * otlp - calls as spans of the OpenTelemetry protocol, in its JSON encoding
 * (docs/sites/opentelemetry.md): the job is a trace, a rank a resource, a call a span.
 *
 * Calls that open, read or write files, collective calls, those that failed and those that took
 * long become spans; all others are counted.  A span's parent is the narrowest call around it that
 * is one, else the process, whose parent is the trace's first span.  A parent ends, and is sent,
 * behind what it called.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;
struct otlp;
struct trace_call;

#define OTLP_SLOW_NS UINT64_C(1000000) /* a usual .slow_ns */

struct otlp_options { /* texts are copied */
	/* Of the job, which has the same trace id wherever it is traced; NULL: none is known, and
	 * the trace has an id of its own. */
	const char *manager, *id;
	const char *scope; /* where that id is one job's; "": everywhere */
	const char *name; /* of the trace's first span */
	const char *host;
	uint64_t slow_ns; /* calls that took so long become spans, whatever they do; 0: all do */
	uint64_t start_ns; /* CLOCK_MONOTONIC, of the trace */
	int64_t unix_offset_ns; /* added to a call's time it is the one since the epoch */
	/* Takes a request over, of @spans: JSON on one line without its end, from malloc(). */
	int (*take)(void *context, char *request, size_t length, size_t spans);
	void *context;
};

struct otlp_counts {
	uint64_t calls;
	uint64_t spans; /* that requests have: of calls, processes and the trace */
	uint64_t call_spans; /* of calls alone */
	uint64_t misplaced; /* of those, whose callers are not known: too many waited for them */
};

int otlp_open(const struct otlp_options *options, struct otlp **ret, struct error *err);
/* Calls of one thread come in the order of their ends; their processes outlive @o. */
int otlp_add(struct otlp *o, const struct trace_call *call);
/* Spans that are ready do not wait for others. */
int otlp_flush(struct otlp *o);
/* All that is left, then the processes and the trace, which ends at @end_ns. */
int otlp_finish(struct otlp *o, uint64_t end_ns, struct otlp_counts *ret);
struct otlp *otlp_free(struct otlp *o); /* NULL is fine; returns NULL */
void otlp_freep(struct otlp **o);
