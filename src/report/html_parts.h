/* SPDX-License-Identifier: MIT */
/* html_parts - the sections of a record's page, each with its heading; nothing where there is
 * nothing to tell. */
#pragma once

#include "html.h"

struct analysis;
struct record;

void html_put_core_time(const struct record *r, const struct analysis *analysis, struct html *h);
void html_put_over_time(const struct record *r, struct html *h);
void html_put_numbers(const struct record *r, struct html *h);
void html_put_files(const struct record *r, struct html *h);
void html_put_block(const struct record *r, struct html *h);
void html_put_network(const struct record *r, struct html *h);
void html_put_syscalls(const struct record *r, struct html *h);
void html_put_insights(const struct analysis *analysis, struct html *h);
void html_put_steps(const struct record *r, struct html *h);
void html_put_coverage(const struct record *r, const struct analysis *analysis, struct html *h);
