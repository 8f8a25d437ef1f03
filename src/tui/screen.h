/* SPDX-License-Identifier: MIT */
/*
 * screen - a terminal: shows a grid, and reads keys and the mouse. One per process.
 *
 * Its end restores the terminal.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct grid;
struct screen;

/* -ENOTTY: the standard output is no terminal that can be drawn on; *err says so. */
int screen_open(bool has_color, struct screen **ret, struct error *err);
struct screen *screen_close(struct screen *s); /* NULL is fine; returns NULL */

void screen_size(const struct screen *s, unsigned int *ret_columns, unsigned int *ret_rows);
void screen_show(struct screen *s, const struct grid *g);

struct screen_event {
	uint32_t key; /* enum top_key, or a character; TOP_KEY_NONE: it was the mouse, or a new size
		       */
	bool is_click;
	unsigned int row, column; /* of a click */
};
/* The next one; false: there is none now. */
bool screen_read(struct screen *s, struct screen_event *ret);
