/* SPDX-License-Identifier: MIT */
/* rows_text - rows as text for a terminal: as wide as the page, with its colour. */
#pragma once

struct page;
struct rows;

void rows_text(const struct rows *rows, struct page *page);
