/* SPDX-License-Identifier: MIT */
/* rows_text - rows as text for a terminal: as wide as the page, with its colour. */
#pragma once

struct insight;
struct page;
struct rows;

void rows_text(const struct rows *rows, struct page *page);

/* "3.1 of 16 GiB were used. Ask for 4G. (#SBATCH --mem=4G)"; the caller frees.  NULL: no memory. */
char *insight_text(const struct insight *insight);
