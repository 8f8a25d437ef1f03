/* SPDX-License-Identifier: MIT */
#include "basic/csv.h"

#include <stdlib.h>

#include "basic/cleanup.h"
#include "made.h"
#include "test.h"

static char *written(const char *text)
{
	struct made_text t = {};

	csv_put(text, made_text_stream(&t));
	return made_text_end(&t);
}

TEST(a_cell_is_quoted_where_it_has_to_be)
{
	static const struct {
		const char *text, *cell;
	} rows[] = {
		{ NULL, "" },
		{ "", "" },
		{ "träin.sh", "träin.sh" },
		{ "a,b", "\"a,b\"" },
		{ "say \"no\"", "\"say \"\"no\"\"\"" },
		{ "two\nlines", "\"two\nlines\"" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_free_ char *cell = written(rows[i].text);

		ASSERT_STREQ(cell, rows[i].cell);
	}
}

TEST(a_cell_is_no_formula)
{
	static const struct {
		const char *text, *cell;
	} rows[] = {
		{ "=HYPERLINK(\"http://x\",A1)", "\"'=HYPERLINK(\"\"http://x\"\",A1)\"" },
		{ "=1+1", "'=1+1" },
		{ "+1", "'+1" },
		{ "-1", "'-1" },
		{ "@SUM(A1)", "'@SUM(A1)" },
		{ "\t=1", "'\uFFFD=1" },
		{ "a=1", "a=1" },
		{ "'=1", "'=1" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_free_ char *cell = written(rows[i].text);

		ASSERT_STREQ(cell, rows[i].cell);
	}
}

TEST(nothing_that_a_terminal_obeys_comes_out)
{
	static const char *const rows[] = {
		"a\x1b[2Jb",
		"a\ab",
		"a\xc2\x9b"
		"2Jb",
		"a\xe2\x80\xae"
		"b",
		"a\x7f"
		"b",
		"a\xff"
		"b",
		"a\rb",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_free_ char *cell = written(rows[i]);

		ASSERT_CONTAINS(cell, "a\uFFFD");
		for (const char *p = cell; *p; p++)
			ASSERT((unsigned char)*p >= ' ' && *p != 0x7f);
		ASSERT_LACKS(cell, "\xc2\x9b");
		ASSERT_LACKS(cell, "\xe2\x80\xae");
	}
}
