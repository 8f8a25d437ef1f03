/* SPDX-License-Identifier: MIT */
/* api_tick - answers who looks again and again: all jobs of one reading, or what they have more than one before. */
#pragma once

#include "http.h"
#include "snapshot.h"

struct api_view;
struct sampler;

/* So many of those who look each at their own moments get what is new only; of more of them some get all, again and
 * again. */
#define API_TICKS_KEPT 4

struct api_ticks { /* begins as {}; the last snapshots that were sent so that somebody can go on from them */
	struct snapshot *kept[API_TICKS_KEPT];
	size_t next;
};

int api_ticks_answer(struct api_ticks *t, struct sampler *sampler, const struct http_request *request,
		     const struct api_view *view, struct http_answer *ret);
void api_ticks_clear(struct api_ticks *t);
