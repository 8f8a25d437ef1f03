/* SPDX-License-Identifier: MIT */
/*
 * billing - the weights of a site's scheduler: Slurm's TRESBillingWeights ("CPU=1.0,Mem=0.25G"), by
 * partition.
 *
 * Memory is billed by the MiB unless a suffix (K, M, G, T, P) says otherwise, as in Slurm. Billed
 * resources that are not measured (GRES, Node, Energy...) are left out, and listed.
 */
#pragma once

#include <stddef.h>

#include "analysis/efficiency.h"

struct error;

#define BILLING_TEXT_MAX 256
#define BILLING_LEFT_OUT_MAX 16
#define BILLING_OTHERS "*" /* the partition for all others */

struct billing {
	char *partition;
	char *text; /* as it was written */
	double weights[RESOURCE_COUNT]; /* of a core, of a byte */
	char *left_out[BILLING_LEFT_OUT_MAX];
	size_t left_out_count;
};

/* Fills all but the partition; @ret begins as {}, and is cleared on failure. -EINVAL, with a
 * reason. */
int billing_parse(const char *text, struct billing *ret, struct error *err);
void billing_clear(struct billing *b);

struct billings { /* a site's; begins as {} */
	struct billing *items;
	size_t count;
};

/* The one of that partition, which is added if need be.  NULL: no memory. */
struct billing *billings_get(struct billings *billings, const char *partition);
/* That of a partition (NULL: not known), else of BILLING_OTHERS; NULL: none. */
const struct billing *billings_find(const struct billings *billings, const char *partition);
void billings_clear(struct billings *billings);
