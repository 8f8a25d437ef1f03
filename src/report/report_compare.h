/* SPDX-License-Identifier: MIT */
/* report_compare - what changed since the last run of the same command, in one plain sentence. */
#pragma once

struct record;

/* The one to three greatest changes that matter: "12 % slower, 3 times as much read on /scratch",
 * or "about the same".  The caller frees.  NULL: no memory. */
char *report_compare(const struct record *last, const struct record *now);
