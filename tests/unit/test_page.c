/* SPDX-License-Identifier: MIT */
#include "report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/rows.h"
#include "report/rows_text.h"
#include "made.h"
#include "test.h"

static char *printed(struct page page, void (*print)(struct page *page))
{
	struct made_text t = {};

	page.out = made_text_stream(&t);
	print(&page);
	return made_text_end(&t);
}

static const struct page wide = { .width = 80, .is_utf8 = true };
static const struct page ascii = { .width = 80 };
static const struct page narrow = { .width = 40, .is_utf8 = true };

static void print_nasty(struct page *page)
{
	page_put(page, PAGE_BOLD, "%s", "a\x1b[31mb\nc\x9b\xc2\x9b\u202e\x7f é日…≥µ");
	page_end_line(page);
}

TEST(nothing_that_steers_a_terminal_comes_out)
{
	ASSERT_TEXT(printed(wide, print_nasty), "a?[31mb?c\uFFFD??? é日…≥µ\n");
}

TEST(ascii_is_as_wide_as_what_it_stands_for)
{
	ASSERT_TEXT(printed(ascii, print_nasty), "a?[31mb?c???? ???~>=u\n");
}

TEST(colour_is_closed_again)
{
	struct page page = { .width = 80, .is_utf8 = true, .has_color = true };
	_cleanup_free_ char *text = printed(page, print_nasty);

	ASSERT(strncmp(text, "\x1b[1ma?[31m", 9) == 0);
	ASSERT_CONTAINS(text, "µ\x1b[0m\n");
}

static void print_padded(struct page *page)
{
	page_label(page, "label");
	page_put(page, PAGE_PLAIN, "x");
	page_pad(page, 20, 2);
	page_end_line(page);
	page_label(page, NULL);
	page_end_line(page);
	page_label(page, "a label too long");
	page_put(page, PAGE_PLAIN, "x");
	page_pad(page, 5, 2);
	page_put(page, PAGE_PLAIN, "y");
	page_end_line(page);
}

TEST(lines_have_no_blanks_at_their_ends)
{
	ASSERT_TEXT(printed(wide, print_padded), "label       x\n\na label too long x  y\n");
}

static void print_paragraph(struct page *page)
{
	page_paragraph(page, "not seen", "one two three four five six seven eight");
	page_paragraph(page, "long", "averyverylongwordthatfitsnowhereatall x");
}

TEST(paragraphs_are_broken_between_words)
{
	ASSERT_TEXT(printed(narrow, print_paragraph),
		    "not seen    one two three four five six\n"
		    "            seven eight\n"
		    "long        averyverylongwordthatfitsnowhereatall\n"
		    "            x\n");
}

static void print_bars(struct page *page)
{
	static const double shares[] = { 0, 0.5, 0.53, 1, 7, -1 };

	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		page_bar(page, shares[i], 4);
		page_end_line(page);
	}
}

TEST(bars_are_as_long_as_they_should_be)
{
	ASSERT_TEXT(printed(wide, print_bars), "····\n██··\n██▏·\n████\n████\n····\n");
	ASSERT_TEXT(printed(ascii, print_bars), "....\n##..\n##:.\n####\n####\n....\n");
}

static void print_levels(struct page *page)
{
	static const double shares[] = { 0, 0.001, 0.125, 0.126, 0.5, 0.99, 1, 7, -1, NAN, 1 };

	for (size_t i = 0; i < ARRAY_SIZE(shares); i++)
		page_level(page, shares[i]);
	page_end_line(page);
}

TEST(levels_are_as_high_as_they_should_be)
{
	ASSERT_TEXT(printed(wide, print_levels), "·▁▁▂▄███· █\n");
	ASSERT_TEXT(printed(ascii, print_levels), ".__,=###. #\n");
}

static const struct rows_column columns[] = {
	{ "mount" },
	{ "read" },
	{ "mean", .rank = 2 },
	{ "p99", .rank = 1 },
};

static void print_table(struct page *page)
{
	static const char *const cells[] = {
		"/",	  "1 MiB", "4 KiB", "3 ms", "/a/very/long/name/of/a/mount",
		"12 GiB", "1 MiB", "12 ms"
	};
	_cleanup_(rows_freep) struct rows *rows = rows_new();
	struct rows_table *table = rows_table(rows, ROWS_ALL, "files", columns,
					      ARRAY_SIZE(columns));

	for (size_t i = 0; i < ARRAY_SIZE(cells); i++) {
		if (i % ARRAY_SIZE(columns) == 0)
			rows_row(table, ROWS_ALL);
		rows_words(table, "%s", cells[i]);
	}
	rows_text(rows, ROWS_TEXT, page);
}

TEST(a_table_aligns_its_columns)
{
	ASSERT_TEXT(printed(wide, print_table),
		    "files       mount                           read   mean    p99\n"
		    "            /                              1 MiB  4 KiB   3 ms\n"
		    "            /a/very/long/name/of/a/mount  12 GiB  1 MiB  12 ms\n");
}

TEST(a_narrow_table_gives_long_names_a_line_of_their_own_and_drops_columns)
{
	ASSERT_TEXT(printed(narrow, print_table), "files       mount            read    p99\n"
						  "            /               1 MiB   3 ms\n"
						  "            /a/very/long/name/of/a/mount\n"
						  "                           12 GiB  12 ms\n");
}

static void print_empty_table(struct page *page)
{
	_cleanup_(rows_freep) struct rows *rows = rows_new();

	rows_table(rows, ROWS_ALL, "files", columns, ARRAY_SIZE(columns));
	rows_text(rows, ROWS_TEXT, page);
}

TEST(a_table_without_rows_is_not_there)
{
	ASSERT_TEXT(printed(wide, print_empty_table), "");
}
