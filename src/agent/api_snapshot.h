/* SPDX-License-Identifier: MIT */
/* api_snapshot - answers who looks again and again: all jobs of one reading. */
#pragma once

#include "http/http.h"

struct api_view;
struct sampler;

struct api_ahead { /* begins as {} */
	uint64_t ns; /* somebody will ask for a reading that is no older than this; 0: nobody said
			so */
	uid_t uid; /* whose request that was */
};

/* @ahead outlives the answer: it is set when all of it has gone out to who wants another reading.
 */
int api_wire_snapshot_answer(struct api_ahead *ahead, struct sampler *sampler,
			     const struct http_request *request, const struct api_view *view,
			     struct http_answer *ret);
