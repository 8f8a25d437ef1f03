/* SPDX-License-Identifier: MIT */
/* rows_text - rows as text for a terminal: as wide as the page, with its colour. */
#pragma once

struct page;
struct rows;

/* @form: ROWS_TEXT, all there is; or ROWS_SCREEN, the first screen. */
void rows_text(const struct rows *rows, unsigned int form, struct page *page);
