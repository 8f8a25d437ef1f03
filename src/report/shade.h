/* SPDX-License-Identifier: MIT */
/*
 * shade - the colour, stripes and words for a part of the time.
 *
 * The colours are those of Okabe and Ito, which people tell apart however they see colours; stripes
 * tell two of one family apart, and everything on a printer without colours.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct html;

#define SHADE_COLOURS 8

struct shade {
	const char *label; /* "locks": in legends and tables */
	const char *waited; /* "for locks": what threads waited; NULL: of what is no cause */
	const char *word; /* "lock": where there is little room; NULL: of what is no part of core
			     time */
	unsigned int colour;
	bool is_striped;
};

extern const struct shade shade_on_cpu, shade_system, shade_idle, shade_read, shade_write,
	shade_received, shade_sent, shade_memory, shade_power;

/* Of a cause, LOST_RUN_QUEUE or LOST_STOLEN. */
const struct shade *shade_of_cause(size_t cause);

/* The patterns that stripes are made of; once a page, before all that is drawn. */
void shade_put_patterns(struct html *h);

/* An attribute of the element that was begun last. */
void shade_put_fill(const struct shade *shade, struct html *h);

/* A little square for a legend. */
void shade_put_swatch(const struct shade *shade, struct html *h);
