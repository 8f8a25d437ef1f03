/* SPDX-License-Identifier: MIT */
/* api_trace - GET /v1/trace: calls of library functions of the caller's own processes, as they end
 * or summed up. */
#pragma once

#include "http/http.h"

struct api_stream;
struct tracer_helper;

struct api_traces { /* begins with .tracer, which outlives it */
	struct tracer_helper *tracer; /* NULL: users may not trace */
	struct api_stream *first; /* of those that go on */
};

/* A job that is the caller's. */
struct api_trace_job {
	const char *name, *path; /* of its group in the key hierarchy; NULL, NULL: a process is
				    asked for */
};

/* @traces outlives the answer. */
int api_trace_answer(struct api_traces *traces, const struct http_request *request,
		     const struct api_trace_job *job, struct http_answer *ret);

/* POST /v1/trace/end: the caller's traces end, and their readers get what is left. */
int api_trace_end(struct api_traces *traces, const struct http_request *request,
		  struct http_answer *ret);
