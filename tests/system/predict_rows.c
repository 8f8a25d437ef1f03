/* SPDX-License-Identifier: MIT */
/* The rows that models learn the runtime of a trace from, for others to learn from: of each job
 * TARGET SUBMIT END FEATURES..., in the order of submission. */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "predict/feature.h"
#include "predict/trace_file.h"

static void put_row(void *context, const struct predictor *p UNUSED, size_t job,
		    const struct estimate made[TARGETS])
{
	const struct past_job *past = &((const struct past_job *)context)[job];
	const struct estimate *e = &made[TARGET_RUNTIME];
	float row[FEATURES];

	if (!e->is_known || e->is_lower_bound || past->outcome.is_lower_bound)
		return;
	features_fill(&past->request, made, TARGET_RUNTIME, row);
	printf("%.9g %" PRIu64 " %" PRIu64,
	       log(MAX(past->outcome.values[TARGET_RUNTIME], 1.0) / e->value),
	       past->request.submit_ns, past->outcome.end_ns);
	for (size_t i = 0; i < FEATURES; i++)
		printf(" %.9g", (double)row[i]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	_cleanup_(trace_file_clear) struct trace_file file = {};
	_cleanup_(predictor_freep) struct predictor *p = predictor_new();
	_cleanup_free_ char *text = NULL;
	struct error err = {};

	if (argc != 2 || file_read(AT_FDCWD, argv[1], 1u << 30, &text, NULL) < 0 ||
	    trace_file_parse_swf(text, &file, &err) < 0 || !p ||
	    predictor_replay(p, file.jobs, file.count, put_row, file.jobs) < 0) {
		fprintf(stderr, "usage: predict-rows FILE.swf   %s\n", err.text);
		return 1;
	}
	return 0;
}
