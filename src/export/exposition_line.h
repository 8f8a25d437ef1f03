/* SPDX-License-Identifier: MIT */
/* exposition_line - one sample or heading as text, with what others wrote made harmless.  Within
 * exposition only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/exposition.h"
#include "model/metric.h"

#define LABEL_MAX_BYTES 192 /* of a value, before it is escaped */
#define LINE_SIZE 8192 /* a heading and twice the six labels of a sample, all escaped: 6.5 KiB */

struct line {
	enum exposition_format format;
	char prefix[METRIC_PREFIX_SIZE]; /* of names, instead of METRIC_PREFIX */
	size_t length, given; /* of @text: all, and what has been handed out */
	bool has_label;
	size_t labels; /* of the sample: where in @text they begin */
	uint64_t created_ns; /* when the sample's counter began; 0: it is not said */
	char text[LINE_SIZE];
};

/* HELP, TYPE and UNIT of a family. */
void line_put_family(struct line *line, const struct metric *metric);

/* One sample is: begin, labels, end. */
void line_begin(struct line *line, const struct metric *metric);
/* A value of NULL is an empty one.  One that is too long or no valid UTF-8 is made so and gets a
 * mark, so that two different ones stay different. */
void line_put_label(struct line *line, const char *name, const char *value);
void line_end(struct line *line, const struct metric *metric, uint64_t number);

void line_put(struct line *line, const char *text);
