/* SPDX-License-Identifier: MIT */
/*
 * open_calls - calls that have not returned when a trace ends, or the thread in them: what a job
 * that hangs hangs in.
 */
#pragma once

#include <stddef.h>

struct rows;
struct site_row;
struct trace_event;
struct trace_process;

struct open_call;

struct open_calls { /* begins as {} */
	struct open_call *items;
	size_t count, room;
};

/* @event has TRACE_IS_OPEN, of @row; both, and @process, outlive the list.  -ENOMEM. */
int open_calls_add(struct open_calls *o, const struct trace_event *event,
		   const struct site_row *row, const struct trace_process *process);

/* A row a function: which ranks are in it, and since when. */
void open_calls_rows(struct open_calls *o, struct rows *rows);
void open_calls_clear(struct open_calls *o);
