/* SPDX-License-Identifier: MIT */
/* call - one call of a probed function, as exports and the summary take it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "trace/probe.h"

struct document;
struct names;
struct trace_event;

#define CALL_TASK_MAX 16

struct trace_process {
	uint32_t pid;
	int rank; /* of MPI; -1: it has none */
	char task[CALL_TASK_MAX]; /* its name */
	uint64_t run; /* of which it is a rank; 0: not known, as of all in one */
};

struct trace_call { /* what it points to is the caller's */
	const struct probe_set *set;
	const struct probe *probe;
	const char *name; /* of the function */
	const struct trace_process *process;
	const struct names *names; /* of handles; NULL: none are known */
	const char *withheld; /* why it has no return; NULL: its probe has one, or wants none */
	uint32_t tid, cpu;
	uint32_t depth; /* probed functions that it is inside of */
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	bool has_returned; /* else there is neither duration nor result */
	uint64_t duration_ns;
	int64_t result;
	bool has_bytes;
	uint64_t bytes;
	uint32_t have; /* a bit for each value that is there */
	int64_t values[PROBE_CAPTURES_MAX];
	const char *text; /* NULL: none */
};

/* @event of @probe, which its row says; all pointers but .process and .names, which stay NULL, are
 * set. */
void call_decode(const struct trace_event *event, const struct probe_set *set,
		 const struct probe *probe, const char *name, struct trace_call *ret);

/* By its result, as its probe's `fails` says; one whose return is not seen has not. */
bool call_has_failed(const struct trace_call *call);

/* Its captured values and text as members of a map that has begun: "direction", and where that has
 * a name "direction_name". */
void call_format_arguments(const struct trace_call *call, struct document *doc);
