/* SPDX-License-Identifier: MIT */
#include "model/rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "report/html.h"
#include "markup.h"
#include "reported.h"
#include "report/rows_html.h"
#include "report/rows_markdown.h"
#include "made.h"
#include "test.h"

static char *markdown(struct rows *rows)
{
	struct made_text t = {};

	rows_markdown(rows, made_text_stream(&t));
	rows_free(rows);
	return made_text_end(&t);
}

/* In one element, as a page is. */
static char *html(struct rows *rows)
{
	struct made_text t = {};
	struct html h = { .out = made_text_stream(&t) };

	fputs("<!DOCTYPE html>\n", h.out);
	html_begin(&h, "html");
	rows_html(rows, &h);
	html_end(&h);
	rows_free(rows);
	return made_text_end(&t);
}

static struct rows *make_lines(void)
{
	struct rows *rows = rows_new();

	rows_part(rows, "Empty");
	rows_line(rows, ROWS_TEXT, "secret", "for the terminal alone");
	rows_part(rows, "Memory");
	rows_line(rows, ROWS_ALL, "memory", "%d GiB", 3);
	rows_alert(rows, ROWS_ALL, NULL, "two were killed");
	rows_begin(rows, ROWS_ALL, "nothing");
	rows_begin(rows, ROWS_LONG, "not seen");
	rows_say(rows, "; ", "a <b>");
	rows_say(rows, "; ", "%d more", 2);
	rows_part(rows, "Files");
	rows_line(rows, ROWS_HTML, NULL, "nothing was done");
	return rows;
}

TEST(each_form_has_its_lines)
{
	_cleanup_free_ char *page = html(make_lines());

	ASSERT_TEXT(reported_rows(make_lines(), ROWS_TEXT, 80),
		    "secret      for the terminal alone\n"
		    "memory      3 GiB\n"
		    "            two were killed\n");
	ASSERT_TEXT(markdown(make_lines()),
		    "\n**Memory**: 3 GiB. Two were killed.\n\n**Not seen**: a \\<b\\>; 2 more.\n");
	ASSERT_LACKS(page, "Empty");
	ASSERT_CONTAINS(page, "<h2>Memory</h2>");
	ASSERT_CONTAINS(page, "<dt>memory</dt>\n<dd>3 GiB</dd>");
	ASSERT_CONTAINS(page, "<dd class=\"alert\">two were killed</dd>");
	ASSERT_CONTAINS(page, "<dd>a &lt;b&gt;; 2 more</dd>");
	ASSERT_CONTAINS(page, "<p class=\"note\">Nothing was done.</p>");
	ASSERT_LACKS(page, "nothing</dt>");
	ASSERT_STREQ(markup_find_fault(page), NULL);
}

TEST(a_label_is_never_cut)
{
	static const struct rows_column columns[] = { { "waited for" },
						      { "time" },
						      { "core time lost" } };
	struct rows *rows = rows_new();
	struct rows_table *table = rows_table(rows, ROWS_ALL, NULL, columns, ARRAY_SIZE(columns));
	_cleanup_free_ char *text = NULL;

	rows_row(table, ROWS_ALL);
	rows_words(table, "stolen by a hypervisor or interrupts");
	rows_words(table, "3 ms");
	rows_words(table, "-");
	text = reported_rows(rows, ROWS_TEXT, 60);
	ASSERT_CONTAINS(text, "            stolen by a hypervisor or interrupts\n");
	ASSERT_LACKS(text, "…");
}

TEST(a_path_loses_its_beginning_and_a_line_is_broken)
{
	struct rows *rows = rows_new();

	rows_line(rows, ROWS_TEXT, "read again", "most: 1 MiB of 2 MiB from");
	rows_path(rows, "/a/very/long/name/of/a/file/in/a/corner");
	ASSERT_TEXT(reported_rows(rows, ROWS_TEXT, 40),
		    "read again  most: 1 MiB of 2 MiB from\n"
		    "            …/name/of/a/file/in/a/corner\n");
}

static struct rows *make_table(void)
{
	static const struct rows_column columns[] = {
		{ "mount" },
		{ "read", .group = "read", .under = "bytes" },
		{ "calls", .group = "read", .forms = ROWS_LONG },
		{ "write", .group = "written", .under = "bytes", .forms = ROWS_HTML },
		{ "kind", .is_left = true },
	};
	struct rows *rows = rows_new();
	struct rows_table *table = rows_table(rows, ROWS_ALL, "files", columns,
					      ARRAY_SIZE(columns));
	struct rows_cell name = cell_words("/scratch");

	name.aside[0] = "ext4";
	rows_row(table, ROWS_ALL);
	rows_cell(table, name);
	rows_cell(table, cell_bound(true, cell_number(ROWS_BYTES, 4096)));
	rows_cell(table, cell_bound(true, cell_number(ROWS_COUNT, 0)));
	rows_cell(table, cell_if(false, cell_number(ROWS_BYTES, 1)));
	rows_words(table, "%s", "a|b");
	rows_row(table, ROWS_HTML);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		rows_cell(table, cell_words(i ? NULL : "/rare"));
	rows_remark(table, ROWS_SHORT, "and %d more", 1);
	return rows;
}

TEST(each_form_has_its_columns_and_rows)
{
	_cleanup_free_ char *page = html(make_table());

	ASSERT_TEXT(reported_rows(make_table(), ROWS_TEXT, 80),
		    "files       mount       read  kind\n"
		    "            /scratch  ≥4 KiB  a|b\n"
		    "            and 1 more\n");
	ASSERT_TEXT(markdown(make_table()),
		    "\n| mount | read | calls | kind |\n|---|---:|---:|---|\n"
		    "| /scratch | ≥4 KiB | 0 | a\\|b |\n\nAnd 1 more.\n");
	ASSERT_CONTAINS(page, "colspan=\"2\">read</th>");
	ASSERT_CONTAINS(page, "colspan=\"1\">written</th>");
	ASSERT_CONTAINS(page, "<span class=\"type\"> ext4</span>");
	ASSERT_CONTAINS(page, "/rare");
	ASSERT_LACKS(page, "1 more");
	ASSERT_STREQ(markup_find_fault(page), NULL);
}

TEST(without_memory_nothing_is_told_and_nothing_breaks)
{
	struct rows_table *table = rows_table(NULL, ROWS_ALL, "files",
					      &(struct rows_column){ "mount" }, 1);

	ASSERT(!table);
	rows_row(table, ROWS_ALL);
	rows_cell(table, cell_share(0.5));
	rows_words(table, "x");
	rows_remark(table, ROWS_ALL, "x");
	rows_line(NULL, ROWS_ALL, "x", "y");
	rows_share(NULL, true, 1);
	ASSERT_STREQ(rows_format(NULL, "x"), "");
}
