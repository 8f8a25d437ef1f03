/* SPDX-License-Identifier: MIT */
/* report_insights - what was concluded from a record, for people. */
#pragma once

struct analysis;
struct page;

/* All insights, each behind its severity, with what to do: "info  3.1 of 16 GiB were used.  Ask for
 * 4G.". */
void report_insights(const struct analysis *analysis, struct page *page);

/* The first three, numbered, for the top of a report. */
void report_sentences(const struct analysis *analysis, struct page *page);

/* "class  cpu-bound 87 %, cpu-contended 12 %"; nothing if there is none. */
void report_classes(const struct analysis *analysis, struct page *page);

/* What the score is weighted by, where a site bills more than cores. */
void report_billing(const struct analysis *analysis, struct page *page);

/* "score 47"; "score 47, as billed": by a site's weights; NULL: it is not known.  The caller frees. */
char *report_score(const struct analysis *analysis);

/* Core hours that were lost, by cause; nothing where that is not known. */
void report_lost(const struct analysis *analysis, struct page *page);

/* What was found over time, a sentence each: "hang  Nothing was done for...". */
void report_patterns(const struct analysis *analysis, struct page *page);

/* The rules of which numbers are not known. */
void report_unknown(const struct analysis *analysis, struct page *page);
