/* SPDX-License-Identifier: MIT */
#include "saved.h"

#include "basic/cleanup.h"
#include "basic/error.h"
#include "cli/measure.h"
#include "cli/output.h"
#include "codec/records.h"
#include "analysis/rules.h"

int saved_measure(const struct measure_options *options, char **command, const char *file,
		  struct error *err)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	struct output output = { .format = OUTPUT_JSON, .file = file };
	_cleanup_(records_clear) struct records records = {};
	struct record *record;
	int code, r = measure_command(options, command, &record, &code, err);

	if (r >= 0)
		r = records_add(&records, record);
	if (r >= 0)
		r = rules_load_built_in(&rules, err);
	output.rules = rules;
	if (r >= 0)
		r = output_save(&output, &records, err);
	return r < 0 ? r : code;
}
