/* SPDX-License-Identifier: MIT */
#include "tui/columns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "basic/macro.h"
#include "basic/error.h"
#include "made_top.h"
#include "test.h"

static const struct columns_wanted any;

TEST(columns_fit_into_every_width_and_the_first_is_always_there)
{
	struct columns_layout l;

	for (unsigned int width = 19; width < 300; width++) {
		unsigned int sum = 0;

		columns_fit(&any, width, &l);
		for (size_t i = 0; i < l.count; i++) {
			const struct column *c = &top_columns[l.items[i].column];

			ASSERT(l.items[i].width <= c->most);
			ASSERT(l.items[i].width >= c->least);
			ASSERT(!i || l.items[i].column > l.items[i - 1].column);
			sum += l.items[i].width + 1;
		}
		ASSERT(l.count && l.items[0].column == 0);
		ASSERT(sum - 1 <= width);
	}
}

TEST(a_terminal_of_80_columns_has_time_and_state)
{
	static const char *const names[] = { "id",     "user", "name",	"cores", "wait", "blocked",
					     "memory", "read", "write", "time",	 "state" };
	struct columns_layout l;

	columns_fit(&any, 79, &l);
	ASSERT_EQ((uint64_t)l.count, (uint64_t)ARRAY_SIZE(names));
	for (size_t i = 0; i < l.count; i++)
		ASSERT_STREQ(top_columns[l.items[i].column].name, names[i]);
}

TEST(wanted_columns_stand_as_they_were_named_and_the_last_go_first)
{
	struct columns_wanted wanted = {};
	struct columns_layout l;
	struct error err = {};

	ASSERT_OK(columns_parse("manager,meta,id", &wanted, &err));
	ASSERT_EQ(columns_width(&wanted), 6u + 1 + 4 + 1 + 8);
	columns_fit(&wanted, 200, &l);
	ASSERT_EQ((uint64_t)l.count, (uint64_t)3);
	ASSERT_STREQ(top_columns[l.items[0].column].name, "manager");
	ASSERT_STREQ(top_columns[l.items[2].column].name, "id");
	ASSERT_EQ(l.items[2].width, top_columns[0].most);
	columns_fit(&wanted, 19, &l);
	ASSERT_EQ((uint64_t)l.count, (uint64_t)2);
	columns_fit(&wanted, 3, &l);
	ASSERT_EQ((uint64_t)l.count, (uint64_t)1);
}

TEST(a_column_that_there_is_not_is_told)
{
	static const char *const wrong[] = { "", "id,", "ID", "id,core", "id cores" };
	struct columns_wanted wanted = { .count = 7 };
	char many[256] = "";

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct error err = {};

		ASSERT_ERR(columns_parse(wrong[i], &wanted, &err), -EINVAL);
		ASSERT_CONTAINS(err.text, "there are id, user, name, class, cores,");
	}
	for (size_t i = 0; i <= COLUMNS_MAX; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "%sid", i ? "," : "");
	ASSERT_ERR(columns_parse(many, &wanted, NULL), -EINVAL);
	ASSERT_EQ((uint64_t)wanted.count, (uint64_t)7);
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
			return column_format(t, i, &t->rows[row], width, text, sizeof(text)) ? text
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
