/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "made.h"
#include "basic/macro.h"
#include "report/rows_markdown.h"
#include "codec/records.h"
#include "reported.h"
#include "report/reports.h"
#include "test.h"

static char *text_of(const struct record *r)
{
	return reported(markdown_report, r);
}

static char *escaped(void (*put)(const char *text, FILE *out), const char *what)
{
	struct made_text t = {};

	put(what, made_text_stream(&t));
	return made_text_end(&t);
}

TEST(a_ticket_has_it_in_short)
{
	static const struct {
		const char *record, *text;
	} rows[] = {
		{ "made-train.json", "pages/made-train.md" },
		{ "made-hardware.json", "pages/made-hardware.md" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *data = test_data(rows[i].record), *text = NULL;
		struct records records = {};
		struct error err = {};

		ASSERT_OK(records_parse(data, strlen(data), rows[i].record, &records, &err));
		text = text_of(records.items[0]);
		records_clear(&records);
		ASSERT_GOLDEN(text, rows[i].text);
	}
}

TEST(signs_of_markdown_mean_nothing)
{
	ASSERT_TEXT(escaped(markdown_put, "a|b`c`*d*<e>&lt;[f](g)\n# h\x1b\xff~~i~~"),
		    "a\\|b\\`c\\`\\*d\\*\\<e\\>\\&lt;\\[f\\](g) \\# h \ufffd\\~\\~i\\~\\~");
	ASSERT_TEXT(escaped(markdown_put_code, "a`b\nc"), "`a b c`");
}

TEST(a_name_cannot_break_a_table)
{
	_cleanup_(record_freep) struct record *r = made_record(0);

	free(r->reading.mounts[0].mount);
	r->reading.mounts[0].mount = strdup("/a|b\n| c `d`");
	ASSERT_TOLD(text_of(r), "\n| /a\\|b \\| c \\`d\\` | ");
}

TEST(over_time_is_a_line_of_bars)
{
	_cleanup_free_ char *data = test_data("pages/made-epochs.json"), *text = NULL;
	struct records records = {};
	struct error err = {};

	ASSERT_OK(records_parse(data, strlen(data), "made-epochs.json", &records, &err));
	text = text_of(records.items[0]);
	records_clear(&records);
	ASSERT_CONTAINS(text, "  cores, at most ");
	ASSERT_CONTAINS(text, "·"); /* where nobody looked at memory */
}

TEST(each_step_has_a_line_with_what_it_sent_where_that_is_known)
{
	_cleanup_(record_freep) struct record *r = record_new();
	struct step *step = steps_add(&r->steps, "batch");

	step->values[METRIC_MEMORY_PEAK] = (struct value){ 4096, true };
	step = steps_add(&r->steps, "0");
	step->network.is_known = true;
	*network_number_ref(&step->network, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES) = 1000;
	*network_number_ref(&step->network, SOCKET_UDP, METRIC_NETWORK_SENT_BYTES) = 9;
	ASSERT_TOLD(text_of(r), "\n| step | elapsed | CPU time | memory | sent | received |\n",
		    "\n| batch | - | - | 4 KiB | - | - |\n",
		    "\n| 0 | - | - | - | 1009 B | 0 B |\n");
}
