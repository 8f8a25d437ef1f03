/* SPDX-License-Identifier: MIT */
/* rows_html - rows as elements of a page: a section a part. */
#pragma once

struct html;
struct rows;

/* Outside of sections is what stands before the first part with a title. */
void rows_html(const struct rows *rows, struct html *h);
