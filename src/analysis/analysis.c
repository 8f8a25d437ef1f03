/* SPDX-License-Identifier: MIT */
#include "analysis/analysis.h"

#include <errno.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "model/record.h"
#include "codec/record_format.h"

int analysis_make(const struct rules *rules, const struct record *record, struct analysis *ret)
{
	const struct billing *billing = billings_find(&rules->billings, record->job.partition);
	struct analysis analysis = { .efficiency = efficiency_of(record, billing) };
	int r = -ENOMEM;

	analysis.patterns = calloc(1, sizeof(*analysis.patterns));
	if (analysis.patterns)
		r = patterns_find(&rules->pattern_settings, record, analysis.patterns);
	if (r == 0)
		r = classes_find(rules, record, analysis.patterns, &analysis.classes);
	if (r == 0)
		r = insights_find(rules, record, analysis.patterns, &analysis.insights);
	if (r == 0)
		*ret = analysis;
	else
		analysis_clear(&analysis);
	return r;
}

void analysis_clear(struct analysis *analysis)
{
	classes_clear(&analysis->classes);
	insights_clear(&analysis->insights);
	free(analysis->patterns);
	analysis->patterns = NULL;
}

void analysis_format(const struct analysis *analysis, struct document *d)
{
	document_key(d, "classification");
	classes_format(&analysis->classes, d);
	document_key(d, "efficiency");
	efficiency_format(&analysis->efficiency, d);
	document_key(d, "insights");
	insights_format(&analysis->insights, d);
	document_key(d, "patterns");
	patterns_format(analysis->patterns, d);
}

static void format_more(const void *context, struct document *d)
{
	analysis_format(context, d);
}

int analysis_format_record(const struct rules *rules, const struct record *record,
			   struct document *d)
{
	_cleanup_(analysis_clear) struct analysis analysis = {};
	int r = analysis_make(rules, record, &analysis);

	if (r == 0)
		record_format_with(record, format_more, &analysis, d);
	return r;
}
