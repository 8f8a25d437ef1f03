/* SPDX-License-Identifier: MIT */
/*
 * page - lines of text for a person, at a terminal or in a file.
 *
 * Whatever is put on it, no control character and no escape of another comes out: job names may
 * hold anything.  Text is UTF-8; where the locale's charset is another, it becomes plain ASCII.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "basic/macro.h"

#define PAGE_INDENT 12 /* where text begins behind the labels */

enum page_style { PAGE_PLAIN, PAGE_BOLD, PAGE_DIM, PAGE_GOOD, PAGE_ALERT };

struct page {
	FILE *out; /* the caller's */
	unsigned int width;
	bool is_utf8, has_color;
	bool is_full; /* of a report all there is, not the first screen */
	bool has_gap; /* an empty line is to come before the next text */
	size_t indent; /* where text begins behind the labels; 0: PAGE_INDENT */
	bool is_flush; /* there are no labels: text begins at once */
	size_t column; /* of the next character */
	size_t pending; /* blanks that are written only if something follows */
};

/* A page as wide as @out's terminal (60 to 100 columns; 80 for a file), with colour if it has one
 * and NO_COLOR is unset.  setlocale() must have been called. */
struct page page_for(FILE *out);

/* A page that goes out as a whole, since others may write there, too; sheet_clear() afterwards. */
struct sheet {
	struct page page;
	FILE *to; /* the caller's */
	char *text;
	size_t length;
};

/* sheet.page is what page_for(@to) would be. */
int sheet_open(FILE *to, struct sheet *ret);

/* In one write(), as far as @to takes it so.  -Exxx: not all of it got out. */
int sheet_print(struct sheet *s);

/* One that was not opened, or was printed, is fine. */
void sheet_clear(struct sheet *s);

void page_put(struct page *page, enum page_style style, const char *format, ...) PRINTF_LIKE(3, 4);

/* Blanks up to @column, but at least @gap of them. */
void page_pad(struct page *page, size_t column, size_t gap);

void page_end_line(struct page *page);

/* Where text begins behind the labels. */
size_t page_indent(const struct page *page);

/* An empty line before the next text, if there is one. */
void page_gap(struct page *page);

/* The label at the start of a line, and blanks up to the indent (one, if it is longer); NULL:
 * blanks. */
void page_label(struct page *page, const char *label);

/* From the current column, broken between words where the page ends; further lines begin at
 * @indent. */
void page_words(struct page *page, enum page_style style, size_t indent, const char *text);

/* A labelled text that is broken between words where the page ends. */
void page_paragraph(struct page *page, const char *label, const char *text);

/* One column of a curve, for a share from 0 to 1; not a number: a blank, for what is not known. */
void page_level(struct page *page, double share);

/* A bar of @columns, whole or not, and nothing behind it. */
void page_block(struct page *page, double columns);

/* A bar of @columns (at most 64) for a share from 0 to 1; more is a full one. */
void page_bar(struct page *page, double share, unsigned int columns);
