/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "made.h"
#include "codec/records.h"
#include "test.h"

static char *written(const struct record *r)
{
	_cleanup_(rules_freep) struct rules *rules = NULL;
	struct error err = {};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct document *d = document_new_json(out, DOCUMENT_INDENTED);

	ASSERT_OK(rules_load_built_in(&rules, &err));
	ASSERT_OK(analysis_format_record(rules, r, d));
	ASSERT_OK(document_finish(d));
	document_free(d);
	fclose(out);
	return text;
}

TEST(the_analysis_stands_behind_the_record)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	_cleanup_free_ char *text = written(r);
	json_t *json = json_loads(text, 0, NULL);

	ASSERT(json_is_object(json_object_get(json, "time")));
	ASSERT_STREQ(json_string_value(
			     json_object_get(json_object_get(json, "classification"), "primary")),
		     "cpu-bound");
	ASSERT(json_integer_value(json_object_get(json_object_get(json, "efficiency"), "score")) ==
	       100);
	ASSERT(json_array_size(json_object_get(json, "insights")) > 0);
	ASSERT(json_is_null(json_object_get(json, "patterns"))); /* it has no timeline */
	json_decref(json);
}

TEST(a_record_with_an_analysis_can_be_read_again)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	_cleanup_(records_clear) struct records records = {};
	_cleanup_free_ char *text = written(r), *plain = made_json(r), *again = NULL;
	struct error err = {};

	ASSERT_OK(records_parse(text, strlen(text), "made", &records, &err));
	again = made_json(records.items[0]);
	ASSERT_STREQ(again, plain);
}
