/* SPDX-License-Identifier: MIT */
/* insights_text - insights and rules for people: as a page, and in Markdown for mail and tickets.
 */
#pragma once

#include <stdio.h>

struct analysis;
struct page;
struct record;
struct rules;
struct variables;

void insights_text(const struct record *record, const struct analysis *analysis, struct page *page);
void insights_markdown(const struct record *record, const struct analysis *analysis, FILE *out);

/* Each rule and class: when it holds, and where its thresholds are from. */
void insights_list(const struct rules *rules, struct page *page);
/* "FILE: all well: 2 rules are new..." */
void insights_count(const struct rules *rules, const char *file);
/* Each name that rules may use. */
void insights_list_names(const struct variables *variables, struct page *page);
