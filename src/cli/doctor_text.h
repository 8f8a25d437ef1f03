/* SPDX-License-Identifier: MIT */
/* doctor_text - what doctor found, for people. */
#pragma once

#include <stdbool.h>

struct checkup;
struct doctor_agent;
struct page;
struct placement;

/* @is_verbose: each hook and sensor, not only what is off. @agent: of this node; may be NULL. */
void doctor_text(const struct checkup *c, const struct doctor_agent *agent, bool is_verbose,
		 struct page *page);

void doctor_text_placement(const struct placement *p, const struct doctor_agent *agent,
			   const char *hierarchy, struct page *page);
