/* SPDX-License-Identifier: MIT */
/*
 * plot - areas on top of each other over time, as SVG that is as wide as the page.
 *
 * Text is never stretched.  A bucket of which one of the layers is not known is drawn as a gap.
 */
#pragma once

#include "report/axis.h"
#include "report/over_time.h"

struct html;
struct shade;

#define PLOT_LAYERS_MAX 16

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
