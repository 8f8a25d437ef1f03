/* SPDX-License-Identifier: MIT */
#include "tui/columns.h"

#include <math.h>
#include <string.h>

#include "basic/macro.h"
#include "made_top.h"
#include "test.h"

TEST(columns_fit_into_every_width_and_the_first_is_always_there)
{
	unsigned int widths[64];

	for (unsigned int width = 19; width < 300; width++) {
		unsigned int sum = 0;

		columns_fit(width, widths);
		for (size_t i = 0; i < column_count; i++) {
			ASSERT(widths[i] <= top_columns[i].most);
			ASSERT(!widths[i] || widths[i] >= top_columns[i].least);
			sum += widths[i] ? widths[i] + 1 : 0;
		}
		ASSERT(widths[0]);
		ASSERT(sum - 1 <= width);
	}
}

TEST(a_terminal_of_80_columns_has_time_and_state)
{
	static const char *const titles[] = { "ID",	"USER", "NAME",	 "CORES", "WAIT", "BLOCKED",
					      "MEMORY", "READ", "WRITE", "TIME",  "S" };
	unsigned int widths[64];
	size_t found = 0;

	columns_fit(79, widths);
	for (size_t i = 0; i < column_count; i++) {
		if (!widths[i])
			continue;
		ASSERT(found < ARRAY_SIZE(titles));
		ASSERT_STREQ(top_columns[i].title, titles[found++]);
	}
	ASSERT_EQ((uint64_t)found, (uint64_t)ARRAY_SIZE(titles));
}

TEST(a_key_sorts_by_one_column)
{
	ASSERT_STREQ(top_columns[column_find('P')].title, "CORES");
	ASSERT_STREQ(top_columns[column_find('M')].title, "MEMORY");
	ASSERT_STREQ(top_columns[column_find('T')].title, "TIME");
	ASSERT_STREQ(top_columns[COLUMN_DEFAULT].title, "CORES");
	ASSERT_EQ((uint64_t)column_find('x'), (uint64_t)column_count);
	ASSERT_EQ((uint64_t)column_find('\0'), (uint64_t)column_count);
	for (size_t i = 0; i < column_count; i++)
		ASSERT(!top_columns[i].key || column_find(top_columns[i].key) == i);
}

static const char *cell(const struct top *t, const char *id, const char *title, unsigned int width)
{
	static char text[COLUMN_TEXT_MAX];

	for (size_t row = 0; row < t->row_count; row++) {
		for (size_t i = 0; i < column_count; i++) {
			if (strcmp(t->rows[row].job->now->job.id, id) != 0 ||
			    strcmp(top_columns[i].title, title) != 0)
				continue;
			return top_columns[i].format(t, &t->rows[row], width, text, sizeof(text))
				       ? text
				       : "-";
		}
	}
	return "none";
}

TEST(cells_say_what_was_measured_and_nothing_else)
{
	static const struct row {
		const char *id, *title, *text;
	} rows[] = {
		{ "123", "CORES", "3.6/4" },
		{ "123", "WAIT", "0.2" },
		{ "123", "BLOCKED", "0.0" },
		{ "123", "MEMORY", "3.1G/16G" },
		{ "123", "WRITE", "23M" },
		{ "123", "READ", "0" },
		{ "123", "META", "38" },
		{ "123", "METADATA BY MOUNT", "/scratch 31  / 7" },
		{ "123", "TIME", "2:16" },
		{ "124", "BLOCKED", "6.5 reads" },
		{ "124", "READ", "1.5M" },
		{ "124", "TIME", "2h00m" },
		{ "125", "MEMORY", "1.9G/2G!" },
		{ "125", "READ", "-" },
		{ "1000", "CORES", "2.0/4" }, /* since its birth: 1 s in half a second */
		{ "1000", "WRITE", "16M" },
		{ "77", "CORES", "0.5/1" }, /* 0.5 s in the last second that it lived */
		{ "77", "S", "x" },
		{ "123", "S", "R" },
		{ "124", "S", "D" },
		{ "125", "S", "S" },
		{ "99", "S", "-" },
		{ "99", "CORES", "-" },
		{ "99", "USER", "-" },
		{ "99", "TIME", "-" },
	};
	struct top *t = made_top();

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ASSERT_STREQ(cell(t, rows[i].id, rows[i].title, 40), rows[i].text);
	ASSERT_STREQ(cell(t, "124", "NAME", 9), "a na…r it");
	ASSERT_STREQ(cell(t, "125", "MEMORY", 7), "1.9G!");
	ASSERT_STREQ(cell(t, "123", "CORES", 4), "4/4");
	ASSERT_STREQ(cell(t, "123", "CORES", 2), "4");
	top_free(t);
}
