/* SPDX-License-Identifier: MIT */
/* heap - what is allocated, for tests of what a structure takes. */
#pragma once

#include <malloc.h>
#include <stddef.h>

/* Sanitizers keep no count of malloc's own: there it is 0. */
#if defined(__SANITIZE_ADDRESS__)
#define HEAP_IS_COUNTED 0
#else
#define HEAP_IS_COUNTED 1
#endif

static inline size_t heap_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}
