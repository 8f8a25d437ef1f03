/* SPDX-License-Identifier: MIT */
/* watch_report - what was watched: a line for each job and interval, and a page or document at the
 * end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/page.h"

struct error;
struct output;
struct session;
struct watched_list;

/* To the standard output, and the file of @output: one job's record, or @is_session.  There is one
 * job at least. */
int watch_report(const struct output *output, const struct session *session, bool is_session,
		 struct error *err);

struct watch_live {
	struct page page;
	bool is_terminal; /* the head is repeated */
	size_t lines;
};

/* As watch_options.look wants it; @context is a struct watch_live. */
void watch_live_print(void *context, const struct watched_list *list, uint64_t due_ns);
