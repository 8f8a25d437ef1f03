/* SPDX-License-Identifier: MIT */
/* markdown_report - a record in short, for a mail or a ticket: what the page has, of each the
 * greatest. */
#pragma once

#include <stdio.h>

struct analysis;
struct classes;
struct insight;
struct record;

/* @analysis is of @r. */
void markdown_report(const struct record *r, const struct analysis *analysis, FILE *out);

/* A paragraph of all classes with their shares; nothing, where there is none. */
void markdown_classes(const struct classes *classes, FILE *out);

/* What it says, advises and directs, to the end of the line. */
void markdown_insight(const struct insight *insight, FILE *out);
