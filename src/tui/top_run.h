/* SPDX-License-Identifier: MIT */
/* top_run - the loop of top: samples and shows them on a terminal, as text, or as lines of JSON. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tui/top.h"

struct error;
struct rules;
struct top_source;

enum top_form { TOP_FORM_SCREEN, TOP_FORM_TEXT, TOP_FORM_LINES };

struct top_options {
	enum top_form form;
	uint64_t interval_ns;
	uint64_t count; /* of updates; 0: until the user leaves */
	unsigned int columns, rows; /* of text; rows 0: as many as there are jobs */
	bool is_ascii, has_color, is_tree;
	bool hides_idle; /* jobs that do nothing */
	bool has_no_legend; /* of text: rows alone */
	const struct columns_wanted *wanted; /* NULL: as there is room */
	const char *user; /* only this user's jobs; NULL: all */
	const struct top_target *targets;
	size_t target_count;
	const struct rules *rules;
	const char *notice; /* first message of the screen; "" or NULL: none */
	FILE *record; /* all ticks are written there, too; NULL: nowhere */
};

/* Until the user leaves, a signal arrives, the count is reached or the source ends.  -ENOENT:
 * no job is one of the targets. */
int top_run(struct top_source *source, const struct top_options *options, struct error *err);
