/* SPDX-License-Identifier: MIT */
/* call_line - a call as one line of JSON, for programs that read calls as they end. */
#pragma once

#include <stdint.h>
#include <stdio.h>

struct trace_call;

/*
 * "task", "rank" (null: none), "pid", "tid", "cpu", "timestamp_ns" (since the epoch, of the entry:
 * @unix_offset_ns more than the call's own), "job", "probe" (SET:FUNCTION), "arguments", "bytes",
 * "duration_ns", "return"; what is not known is null.  @job may be NULL.
 * The line may stay in the file's buffer.
 */
int call_line_write(const struct trace_call *call, const char *job, int64_t unix_offset_ns,
		    FILE *out);
