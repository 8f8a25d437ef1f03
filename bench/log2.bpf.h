/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* log2 - in which of a histogram's buckets, powers of two, a number is. */
#pragma once

static __always_inline __u32 log2_of(__u64 value, __u32 buckets)
{
	__u32 result = 0;

#pragma unroll
	for (int shift = 32; shift; shift >>= 1) {
		if (value >> shift) {
			value >>= shift;
			result += shift;
		}
	}
	return result < buckets ? result : buckets - 1;
}
