/* SPDX-License-Identifier: MIT */
#include "tui/screen.h"

#include <curses.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "basic/error.h"
#include "tui/grid.h"
#include "basic/macro.h"
#include "tui/top.h"

#define ESCAPE_MS 25 /* what comes that soon behind an escape is part of a key */
#define WHEEL_ROWS 3

struct screen {
	SCREEN *curses;
	bool has_color;
	unsigned int wheel_left; /* rows that a turn of the wheel still has to go... */
	uint32_t wheel_key; /* ...by this key */
};

/* Of Okabe and Ito's colours those that eight have, which people tell apart however they see
 * colours. */
enum pair { PAIR_ALERT = 1, PAIR_ON_CPU, PAIR_WAIT, PAIR_TAGGED, PAIR_HEAD };

static void begin_colors(struct screen *s)
{
	bool has_many = false;

	if (!s->has_color || !has_colors() || start_color() == ERR || use_default_colors() == ERR) {
		s->has_color = false;
		return;
	}
	has_many = COLORS >= 256;
	init_pair(PAIR_ALERT, has_many ? 208 : COLOR_YELLOW, -1);
	init_pair(PAIR_ON_CPU, has_many ? 75 : COLOR_CYAN, -1);
	init_pair(PAIR_WAIT, has_many ? 208 : COLOR_YELLOW, -1);
	init_pair(PAIR_TAGGED, has_many ? 220 : COLOR_YELLOW, -1);
	init_pair(PAIR_HEAD, COLOR_BLACK, has_many ? 75 : COLOR_CYAN);
}

/* Without colours, attributes or characters distinguish them. */
static attr_t attributes_of(const struct screen *s, enum style style)
{
	static const struct {
		attr_t attributes;
		short pair;
	} rows[STYLE_COUNT] = {
		[STYLE_PLAIN] = { A_NORMAL, 0 },
		[STYLE_BOLD] = { A_BOLD, 0 },
		[STYLE_DIM] = { A_DIM, 0 },
		[STYLE_HEAD] = { A_NORMAL, PAIR_HEAD },
		[STYLE_SELECTED] = { A_REVERSE, 0 },
		[STYLE_TAGGED] = { A_BOLD, PAIR_TAGGED },
		[STYLE_ALERT] = { A_BOLD, PAIR_ALERT },
		[STYLE_ON_CPU] = { A_NORMAL, PAIR_ON_CPU },
		[STYLE_WAIT] = { A_NORMAL, PAIR_WAIT },
		[STYLE_IDLE] = { A_DIM, 0 },
	};

	if (s->has_color)
		return rows[style].attributes | (attr_t)COLOR_PAIR(rows[style].pair);
	return style == STYLE_HEAD ? A_REVERSE : rows[style].attributes;
}

int screen_open(bool has_color, struct screen **ret, struct error *err)
{
	const char *term = getenv("TERM");
	struct screen *s;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !term || !*term ||
	    strcmp(term, "dumb") == 0)
		return error_set(err, -ENOTTY,
				 "this is no terminal to draw on; '--batch' prints text");
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_set_errno(err, ENOMEM, "cannot draw");
	s->has_color = has_color;
	s->curses = newterm(NULL, stdout, stdin);
	if (!s->curses) {
		free(s);
		return error_set(err, -ENOTTY,
				 "nothing is known of a terminal '%.40s'; '--batch' prints text",
				 term);
	}
	begin_colors(s);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	curs_set(0);
	mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
	*ret = s;
	return 0;
}

struct screen *screen_close(struct screen *s)
{
	if (!s)
		return NULL;
	endwin();
	delscreen(s->curses);
	free(s);
	return NULL;
}

void screen_size(const struct screen *s, unsigned int *ret_columns, unsigned int *ret_rows)
{
	(void)s;
	*ret_columns = (unsigned int)MAX(COLS, 1);
	*ret_rows = (unsigned int)MAX(LINES, 1);
}

void screen_show(struct screen *s, const struct grid *g)
{
	for (unsigned int row = 0; row < g->rows; row++) {
		move((int)row, 0);
		for (unsigned int column = 0; column < g->columns; column++) {
			const struct cell *cell = grid_at(g, row, column);
			const wchar_t text[2] = { (wchar_t)cell->character, L'\0' };
			cchar_t shown;

			if (!cell->character)
				continue;
			setcchar(&shown, text, attributes_of(s, cell->style) & ~A_COLOR,
				 (short)PAIR_NUMBER(attributes_of(s, cell->style)), NULL);
			mvadd_wch((int)row, (int)column, &shown);
		}
	}
	refresh();
}

static uint32_t key_of(wint_t c, bool is_function)
{
	static const struct {
		int curses;
		uint32_t key;
	} rows[] = {
		{ KEY_UP, TOP_KEY_UP },		{ KEY_DOWN, TOP_KEY_DOWN },
		{ KEY_LEFT, TOP_KEY_LEFT },	{ KEY_RIGHT, TOP_KEY_RIGHT },
		{ KEY_PPAGE, TOP_KEY_PAGE_UP }, { KEY_NPAGE, TOP_KEY_PAGE_DOWN },
		{ KEY_HOME, TOP_KEY_HOME },	{ KEY_END, TOP_KEY_END },
		{ KEY_ENTER, TOP_KEY_ENTER },	{ KEY_BACKSPACE, TOP_KEY_BACKSPACE },
		{ KEY_DC, TOP_KEY_BACKSPACE },
	};

	if (!is_function)
		return c == '\r' ? TOP_KEY_ENTER : c == 0x7f ? TOP_KEY_BACKSPACE : c;
	if (c >= KEY_F(1) && c <= KEY_F(12))
		return TOP_KEY_F + (c - KEY_F0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if ((wint_t)rows[i].curses == c)
			return rows[i].key;
	}
	return TOP_KEY_NONE;
}

static void take_mouse(struct screen *s, struct screen_event *ret)
{
	MEVENT event;

	if (getmouse(&event) != OK)
		return;
	if (event.bstate & (BUTTON4_PRESSED | BUTTON5_PRESSED)) {
		ret->key = s->wheel_key = event.bstate & BUTTON4_PRESSED ? TOP_KEY_UP
									 : TOP_KEY_DOWN;
		s->wheel_left = WHEEL_ROWS - 1;
	} else if (event.y >= 0 && event.x >= 0) {
		ret->is_click = true;
		ret->row = (unsigned int)event.y;
		ret->column = (unsigned int)event.x;
	}
}

bool screen_read(struct screen *s, struct screen_event *ret)
{
	wint_t c;
	int r;

	*ret = (struct screen_event){ .key = TOP_KEY_NONE };
	if (s->wheel_left) {
		s->wheel_left--;
		ret->key = s->wheel_key;
		return true;
	}
	r = get_wch(&c);
	if (r == ERR)
		return false;
	if (r == KEY_CODE_YES && c == KEY_MOUSE)
		take_mouse(s, ret);
	else if (r != KEY_CODE_YES || c != KEY_RESIZE) /* of a new size the next screen_size() tells
							*/
		ret->key = key_of(c, r == KEY_CODE_YES);
	return true;
}
