/* SPDX-License-Identifier: MIT */
/* rows_html - rows as elements of a page: a section a part. */
#pragma once

struct html;
struct rows;

/* Items before the first part with a title are outside of sections. */
void rows_html(const struct rows *rows, struct html *h);
