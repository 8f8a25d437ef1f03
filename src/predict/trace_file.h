/* SPDX-License-Identifier: MIT */
/*
 * trace_file - jobs of the past out of files of others: the Standard Workload Format of the
 * Parallel Workloads Archive, and what `sacct -P` prints, with its head.
 *
 * Rows that are none, or say nothing, are counted and passed over.
 */
#pragma once

#include "predict/predictor.h"

struct error;

struct trace_file { /* begins as {} */
	struct past_job *jobs; /* owned */
	size_t count, room;
	size_t refused; /* rows that are none */
	size_t silent; /* jobs that were cancelled, did not begin or have not ended */
};

/* @text is cut to pieces.  -EINVAL: it is no such file; -ENOMEM. */
int trace_file_parse_swf(char *text, struct trace_file *ret, struct error *err);
int trace_file_parse_sacct(char *text, struct trace_file *ret, struct error *err);
void trace_file_clear(struct trace_file *file);
