/* SPDX-License-Identifier: MIT */
/* Whatever a file of jobs says: its jobs are numbers, and can be replayed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "fuzz.h"
#include "predict/trace_file.h"

static void check_jobs(const struct trace_file *file)
{
	_cleanup_(predictor_freep) struct predictor *p = predictor_new();

	for (size_t i = 0; i < file->count; i++) {
		const struct past_job *job = &file->jobs[i];

		CHECK(isfinite(job->request.cores) && job->request.cores >= 0);
		CHECK(isfinite(job->request.nodes) && job->request.nodes >= 0);
		CHECK(isfinite(job->request.memory_bytes) && isfinite(job->request.limit_s));
		for (enum target t = 0; t < TARGETS; t++)
			CHECK(isnan(job->outcome.values[t]) ||
			      (isfinite(job->outcome.values[t]) && job->outcome.values[t] >= 0));
	}
	CHECK(predictor_replay(p, file->jobs, file->count, NULL, NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int (*const parsers[])(char *text, struct trace_file *ret,
				      struct error *err) = { trace_file_parse_swf,
							     trace_file_parse_sacct };

	for (size_t i = 0; i < 2; i++) {
		_cleanup_(trace_file_clear) struct trace_file file = {};
		_cleanup_free_ char *text = strndup((const char *)data, size);
		struct error err = {};

		if (parsers[i](text, &file, &err) < 0)
			CHECK(*err.text);
		check_jobs(&file);
	}
	return 0;
}
