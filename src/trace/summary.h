/* SPDX-License-Identifier: MIT */
/*
 * summary - the report of a trace: functions by time, sizes, GPU work, waiting in collective calls,
 * and MPI-IO beside the kernel's counts.
 *
 * Counts, bytes and times come from the kernel side's sums.  Waiting comes from single calls: calls
 * are one collective call only if at some moment all ranks of the communicator are inside.
 * Communicators are matched across processes from MPI_COMM_WORLD on, by how they were made.  Only
 * ranks of this node are seen.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct probe;
struct reading;
struct rows;
struct trace_call;
struct trace_process;
struct trace_sums;
struct trace_summary;

#define SUMMARY_CALLS_MAX (1024 * 1024) /* collective calls that are compared; 32 bytes each */

struct trace_summary *trace_summary_new(void);
/* @probe outlives the summary; @name and @label are copied, as is @process.  @label: the name of
 * the key, "host-to-device"; NULL: there is none. */
int trace_summary_add_sums(struct trace_summary *s, const struct trace_process *process,
			   const struct probe *probe, const char *name, const char *label,
			   const struct trace_sums *sums);
struct trace_limits { /* of what is known of a function */
	const char *withheld; /* why not all calls have a time; outlives the summary; NULL: they
				 have */
	bool is_short; /* more calls were made than are counted */
	uint64_t own_ns; /* of each call's time, that may be the probe's own */
};
void trace_summary_limit(struct trace_summary *s, const struct probe *probe, const char *name,
			 const struct trace_limits *limits);
/* Calls of other kinds than collective ones are left aside. */
int trace_summary_add_call(struct trace_summary *s, const struct trace_call *call);

/* @wall_ns: how long was traced.  @is_any: some call began, of which there may be no sums. @kernel:
 * what it counted of files; NULL: not measured. */
void trace_summary_rows(struct trace_summary *s, uint64_t wall_ns, bool is_any,
			const struct reading *kernel, struct rows *rows);
struct trace_summary *trace_summary_free(struct trace_summary *s); /* NULL is fine; returns NULL */
void trace_summary_freep(struct trace_summary **s);
