/* SPDX-License-Identifier: MIT */
/*
 * html - elements, attributes and text, so that what comes out is well formed whatever goes in.
 *
 * Names of elements and attributes are ours; text and values may be anybody's.  They mean nothing:
 * each sign of markup is escaped, what is no printable character is U+FFFD, and what is too long
 * loses its middle.  Every element that was begun has to be ended.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "basic/macro.h"

#define HTML_DEPTH_MAX 24
#define HTML_TEXT_MAX 400 /* characters of one text or value */

struct html { /* begins as { .out = ... } */
	FILE *out; /* the caller's */
	const char *open[HTML_DEPTH_MAX];
	size_t depth;
	bool is_in_tag; /* attributes may still follow */
};

/* @name is kept until the element ends. */
void html_begin(struct html *h, const char *name);
/* Of the element that was begun last, before anything is in it. */
void html_attribute(struct html *h, const char *name, const char *format, ...) PRINTF_LIKE(3, 4);
void html_text(struct html *h, const char *format, ...) PRINTF_LIKE(2, 3);
void html_end(struct html *h);

/* A whole element with its text; @class may be NULL. */
void html_element(struct html *h, const char *name, const char *class, const char *format, ...)
	__attribute__((format(printf, 4, 5), nonnull(4)));
/* One that only begins. */
void html_begin_class(struct html *h, const char *name, const char *class);

/* One with attributes, of which those whose value is NULL are left out: html_begin_tag(h, "a", {
 * "href", path }, { "rel", NULL }). */
#define html_begin_tag(h, name, ...)                                            \
	html_begin_attributes(h, name, (const char *const[][2]){ __VA_ARGS__ }, \
			      sizeof((const char *const[][2]){ __VA_ARGS__ }) / \
				      sizeof(const char *const[2]))
void html_begin_attributes(struct html *h, const char *name, const char *const attributes[][2],
			   size_t count);

/* A piece of ours, as it is: a style sheet, a part of a path within an attribute. */
void html_raw(struct html *h, const char *text);

/* An attribute whose value follows piece by piece from html_raw() or to h->out, and its end. */
void html_begin_attribute(struct html *h, const char *name);
void html_end_attribute(struct html *h);
