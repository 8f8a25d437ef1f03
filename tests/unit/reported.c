/* SPDX-License-Identifier: MIT */
#include "reported.h"

#include <stdlib.h>

#include "analysis.h"
#include "cleanup.h"
#include "rules.h"

char *reported(report_writer write, const struct record *r)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	_cleanup_(analysis_clear) struct analysis analysis = {};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out || rules_load_built_in(&rules, NULL) < 0 || analysis_make(rules, r, &analysis) < 0)
		abort();
	write(r, &analysis, out);
	fclose(out);
	return text;
}
