/* SPDX-License-Identifier: MIT */
/* watch_live - a line a job and interval: what it does now. */
#pragma once

#include <stddef.h>

#include "report/page.h"

struct watched_list;

struct watch_live {
	struct page page;
	bool is_terminal; /* then the head comes again now and then */
	size_t lines;
};

/* As watch_options.look wants it; @context is a struct watch_live. */
void watch_live_print(void *context, const struct watched_list *list);
