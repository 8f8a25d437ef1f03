/* SPDX-License-Identifier: MIT */
/* markdown_report - a record in short, for a mail or a ticket: what the page has, of each the
 * greatest. */
#pragma once

#include <stdio.h>

struct analysis;
struct record;

/* @analysis is of @r. */
void markdown_report(const struct record *r, const struct analysis *analysis, FILE *out);
