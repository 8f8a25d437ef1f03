/* SPDX-License-Identifier: MIT */
/*
 * html_report - a record as one page of HTML, with nothing outside of it: no script, no font, no
 * image.
 *
 * The page is well formed, also as XML, whatever texts the record holds; they cannot add markup.
 * Its size is bounded: of what there may be thousands of, it has the busiest, and says how many it
 * left out.
 */
#pragma once

#include <stdio.h>

#include "basic/cli.h"

struct analysis;
struct html;
struct record;

#define HTML_REPORT_BYTES_MAX (2u << 20)

/* @analysis is of @r. */
void html_report(const struct record *r, const struct analysis *analysis, FILE *out);

/* The same for a page with something around it: what stands in <main>, and the style sheet. */
void html_report_body(const struct record *r, const struct analysis *analysis, struct html *h);
extern const char html_report_style[];

/* What each line of a report says: for help, the manual page and the HTML page.  The last has no
 * word. */
extern const struct cli_term reading_terms[];
