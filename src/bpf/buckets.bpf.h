/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* buckets - where a number belongs in the model's histograms. */
#pragma once

#include "bpf/files.h"

/* 0 to 27: the position of the highest bit, plus one.  Without branches, since each doubles the
 * paths that the verifier follows. */
static __always_inline __u64 bucket_of(__u64 value)
{
	__u64 is_over = -(__u64)(value >> 27 != 0);

	value = (value & ~is_over) | (is_over & 1ULL << (FILES_BUCKETS - 2));
	value |= value >> 1;
	value |= value >> 2;
	value |= value >> 4;
	value |= value >> 8;
	value |= value >> 16;
	value = (value & 0x55555555) + (value >> 1 & 0x55555555); /* now count the bits */
	value = (value & 0x33333333) + (value >> 2 & 0x33333333);
	value = (value + (value >> 4)) & 0x0f0f0f0f;
	return (value * 0x01010101 >> 24) & 0xff;
}

static __always_inline __u64 latency_bucket_of(__u64 ns)
{
	__u64 bucket = bucket_of(ns >> 7);

	return bucket - (bucket != 0); /* the first bucket holds all under 2^8 ns */
}
