/* SPDX-License-Identifier: MIT */
#include "tui/grid.h"

#include "basic/cleanup.h"
#include "made.h"
#include "test.h"

static char *text_of(const struct grid *g)
{
	struct made_text t = {};

	grid_print_text(g, made_text_stream(&t));
	return made_text_end(&t);
}

TEST(what_is_put_stands_there_and_no_more_than_fits)
{
	_cleanup_(grid_freep) struct grid *g = grid_new(8, 3, false);

	ASSERT_EQ(grid_put(g, 0, 0, 8, STYLE_BOLD, "abc"), 3u);
	ASSERT_EQ(grid_put(g, 1, 5, 100, STYLE_PLAIN, "defghi"), 8u);
	ASSERT_EQ(grid_put(g, 2, 1, 2, STYLE_PLAIN, "xyz"), 3u);
	ASSERT_EQ(grid_put(g, 3, 0, 8, STYLE_PLAIN, "below"), 0u);
	ASSERT_EQ(grid_put(g, 0, 9, 8, STYLE_PLAIN, "beside"), 9u);
	ASSERT_TEXT(text_of(g), "abc\n     def\n xy\n");
	ASSERT(grid_at(g, 0, 2)->style == STYLE_BOLD && grid_at(g, 0, 3)->style == STYLE_PLAIN);
}

TEST(no_escape_and_no_half_of_a_wide_character_gets_in)
{
	_cleanup_(grid_freep) struct grid *g = grid_new(6, 2, false), *ascii = grid_new(6, 2, true);

	grid_put(g, 0, 0, 6, STYLE_PLAIN, "a\x1b[2J\n");
	ASSERT_EQ(grid_put(g, 1, 0, 4, STYLE_PLAIN, "x漢字"), 3u); /* the second one would be cut in
								      half */
	ASSERT_TEXT(text_of(g), "a?[2J?\nx漢\n");
	grid_put(ascii, 0, 0, 6, STYLE_PLAIN, "└─é▼█");
	ASSERT_TEXT(text_of(ascii), "`-?v#\n\n");
}
