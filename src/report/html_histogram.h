/* SPDX-License-Identifier: MIT */
/* html_histogram - how large and how long single reads and writes were, as small bars. */
#pragma once

#include <stdbool.h>

#include "reading.h"

struct html;
struct hue;

/* One; false: it is empty. */
bool html_put_histogram(enum histogram_kind kind, const struct histogram *histogram, const struct hue *hue, const char *title,
			struct html *h);

/* Those that are known of a row, under its name.  False: none is. */
bool html_put_histograms(const struct mount_row *row, struct html *h);
