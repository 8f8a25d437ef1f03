/* SPDX-License-Identifier: MIT */
/* bitset - as many bits as a table has rows, in words of 64: `uint64_t words[BITSET_WORDS(ROWS)]`.
 * No index is checked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BITSET_WORDS(bits) (((bits) + 63) / 64)

static inline bool bitset_has(const uint64_t *words, size_t bit)
{
	return words[bit / 64] >> bit % 64 & 1;
}

static inline void bitset_add(uint64_t *words, size_t bit)
{
	words[bit / 64] |= UINT64_C(1) << bit % 64;
}

static inline void bitset_remove(uint64_t *words, size_t bit)
{
	words[bit / 64] &= ~(UINT64_C(1) << bit % 64);
}
