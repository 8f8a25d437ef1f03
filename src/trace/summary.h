/* SPDX-License-Identifier: MIT */
/*
 * summary - what a trace says to a person: functions by time, sizes, work for GPUs, who waits
 * for whom in collective calls, and MPI-IO beside what the kernel did.
 *
 * Counts, bytes and times are of the kernel side's sums.  Who waits for whom is of the calls
 * themselves: of one collective call on a communicator all its ranks are inside at one moment, so
 * that calls of which no moment is common are not one.  Which communicators of processes are one is
 * known of MPI_COMM_WORLD, and of what is made of those that are known.  Only ranks of this node
 * are seen.
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
