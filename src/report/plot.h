/* SPDX-License-Identifier: MIT */
/*
 * plot - areas on top of each other over time, as SVG that is as wide as the page.
 *
 * Text is never stretched.  A bucket of which one of the layers is not known is drawn as a gap.
 */
#pragma once

#include "basic/humanize.h"
#include "report/over_time.h"

struct html;
struct shade;

#define PLOT_LAYERS_MAX 16
#define TICKS_MAX 12

enum axis_kind {
	AXIS_NUMBER,
	AXIS_BYTES,
	AXIS_RATE, /* bytes per second */
	AXIS_TIME, /* in seconds */
	AXIS_POWER, /* watts */
};

struct plot {
	const char *id; /* a word, once a page */
	const char *title; /* "Cores in use" */
	const char *word; /* "cores": of one curve for all layers, where there is little room; NULL:
			     they have words */
	const char *unit; /* behind its numbers: " cores"; may be "" */
	enum axis_kind kind;
	const struct over_time *time;
	size_t count;
	struct {
		const struct shade *shade;
		const char *label; /* NULL: the shade's */
		const char *word; /* of a curve of its own, where there is little room; NULL: none
				   */
		double *values;
	} layers[PLOT_LAYERS_MAX];
	double limit; /* a line of its own; 0: none */
	const char *limit_label;
};

/* A figure: title, what it sums up to, the plot, and a legend with the mean of each layer.  There
 * must be a layer. */
void plot_put(const struct plot *plot, struct html *h);

/* ---- the round numbers that stand beside it ---- */

struct ticks {
	double step;
	size_t count;
	double values[TICKS_MAX]; /* the first is 0 */
};

/* At most @wanted steps (1 to TICKS_MAX - 1) from 0, none of them beyond @most.  Of what is no
 * number above 0 there is 0 alone. */
struct ticks ticks_of(double most, enum axis_kind kind, size_t wanted);

/* "2.5", "512 MiB", "1 m 30 s", "163 W" */
struct human axis_format(double value, enum axis_kind kind);
