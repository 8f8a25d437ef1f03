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

#define API_TICKS_KEPT_NS UINT64_C(75000000000) /* nobody looks less often than once a minute */

struct api_tick_kept {
	struct snapshot *snapshot; /* a reference; NULL: it is free */
	unsigned int readers;	   /* who got it and have not come back for the next one */
};

struct api_ticks { /* begins as {}; what was sent, for as long as somebody may go on from it */
	struct api_tick_kept kept[API_TICKS_KEPT];
	uint64_t ahead_ns; /* somebody will ask for a reading that is no older than this; 0: nobody said so */
	uid_t ahead_uid;   /* whose request that was */
};

int api_ticks_answer(struct api_ticks *t, struct sampler *sampler, const struct http_request *request,
		     const struct api_view *view, struct http_answer *ret);
/* Forget what is kept for those who have left, as it is @boot_ns by CLOCK_BOOTTIME. */
void api_ticks_expire(struct api_ticks *t, uint64_t boot_ns);
void api_ticks_clear(struct api_ticks *t);
