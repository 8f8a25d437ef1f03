/* SPDX-License-Identifier: MIT */
/*
 * chrome - calls as a trace of Chrome's JSON format, which Perfetto and chrome://tracing show: a
 * rank is a process, a thread a track, and a call a slice within the slice that it was called in.
 *
 * Times are microseconds since the trace's beginning, exact to the ns; an entry without a return is
 * an instant.  Viewers fail on files of some hundred MB: a larger trace becomes several files, each
 * whole by itself.
 */
#pragma once

#include <stdint.h>

struct chrome;
struct error;
struct trace_call;

struct chrome_options {
	const char *path; /* "x.json"; parts are x-2.json, x-3.json...; NULL: all to stdout */
	uint64_t part_bytes; /* a file that is larger is ended */
	uint64_t start_ns; /* CLOCK_MONOTONIC, what is 0 in the file */
	uint64_t start_unix_ns; /* the same moment, for the file's head */
	const char *job; /* for the file's head; NULL: none */
};

/* @options' texts are copied. */
int chrome_open(const struct chrome_options *options, struct chrome **ret, struct error *err);
/* Calls of one thread come in the order of their ends.  -EIO and the like: it could not be written.
 */
int chrome_add(struct chrome *c, const struct trace_call *call, struct error *err);
/* End the last file.  *ret_parts: how many there are. */
int chrome_finish(struct chrome *c, unsigned int *ret_parts, struct error *err);
struct chrome *chrome_free(struct chrome *c); /* NULL is fine; returns NULL */
void chrome_freep(struct chrome **c);
