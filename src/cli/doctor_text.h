/* SPDX-License-Identifier: MIT */
/* doctor_text - what doctor found, for people. */
#pragma once

#include <stdbool.h>

struct checkup;
struct page;
struct placement;

/* @is_verbose: each hook and sensor, not only what is off. */
void doctor_text(const struct checkup *c, bool is_verbose, struct page *page);

void doctor_text_placement(const struct placement *p, const char *hierarchy, struct page *page);
