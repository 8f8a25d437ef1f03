/* SPDX-License-Identifier: MIT */
/*
 * billing - what a site's scheduler bills resources by: Slurm's TRESBillingWeights
 * ("CPU=1.0,Mem=0.25G"), by partition.
 *
 * Memory is billed by the MiB, unless a suffix (K, M, G, T, P) says otherwise, as Slurm does it.
 * What is billed and not measured (GRES, Node, Energy...) is left out, and named.
 */
#pragma once

#include <stddef.h>

#include "analysis/efficiency.h"

struct error;

#define BILLING_TEXT_MAX 256
#define BILLING_LEFT_OUT_MAX 16
#define BILLING_OTHERS "*" /* the partition that stands for all that are not named */

struct billing {
	char *partition;
	char *text; /* as it was written */
	double weights[RESOURCE_COUNT]; /* of a core, of a byte */
	char *left_out[BILLING_LEFT_OUT_MAX];
	size_t left_out_count;
};

/* Fills all but the partition; @ret begins as {}, and is cleared on failure.  -EINVAL: *err says
 * what is wrong. */
int billing_parse(const char *text, struct billing *ret, struct error *err);
void billing_clear(struct billing *b);

struct billings { /* a site's; begins as {} */
	struct billing *items;
	size_t count;
};

/* That of a partition (NULL: not known), else of those that are not named; NULL: none. */
const struct billing *billings_find(const struct billings *billings, const char *partition);
void billings_clear(struct billings *billings);
