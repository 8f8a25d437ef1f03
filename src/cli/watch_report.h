/* SPDX-License-Identifier: MIT */
/* watch_report - what was watched, as a page or a document. */
#pragma once

#include <stdbool.h>

struct error;
struct output;
struct session;

/* To the standard output, and the file of @output: one job's record, or @is_session.  There is one
 * job at least. */
int watch_report(const struct output *output, const struct session *session, bool is_session,
		 struct error *err);
