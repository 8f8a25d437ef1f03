/* SPDX-License-Identifier: MIT */
/* fnv - FNV-1a of 64 bits (Fowler, Noll, Vo): distinguishes inputs that no attacker chose. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FNV_BEGIN UINT64_C(0xcbf29ce484222325)

static inline uint64_t fnv_bytes(uint64_t hash, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* With its end, so that "ab", "c" are not "a", "bc". */
static inline uint64_t fnv_text(uint64_t hash, const char *text)
{
	return fnv_bytes(hash, text, strlen(text) + 1);
}
