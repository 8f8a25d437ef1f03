/* SPDX-License-Identifier: MIT */
/*
 * hue - in what colour, with or without stripes, and in which words a part of the time is told.
 *
 * The colours are those of Okabe and Ito, which people tell apart however they see colours; stripes
 * tell two of one family apart, and everything on a printer without colours.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct html;

#define HUE_COLOURS 8

struct hue {
	const char *label;  /* "locks": in legends and tables */
	const char *waited; /* "for locks": what threads waited; NULL: of what is no cause */
	const char *word;   /* "lock": where there is little room; NULL: of what is no part of core time */
	unsigned int colour;
	bool is_striped;
};

extern const struct hue hue_on_cpu, hue_system, hue_idle, hue_read, hue_write, hue_received, hue_sent, hue_memory;

/* Of a cause, LOST_RUN_QUEUE or LOST_STOLEN. */
const struct hue *hue_of_cause(size_t cause);

/* The patterns that stripes are made of; once a page, before all that is drawn. */
void hue_put_patterns(struct html *h);

/* An attribute of the element that was begun last. */
void hue_put_fill(const struct hue *hue, struct html *h);

/* A little square for a legend. */
void hue_put_swatch(const struct hue *hue, struct html *h);
