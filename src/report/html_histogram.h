/* SPDX-License-Identifier: MIT */
/* html_histogram - how large and how long single reads and writes were, as small bars. */
#pragma once

struct html;
struct rows_histogram;

/* It must not be empty. */
void html_put_histogram(const struct rows_histogram *shown, struct html *h);
