/* SPDX-License-Identifier: MIT */
/* fuzz - what libFuzzer, or replay.c in its place, calls; and how a target says what does not hold.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold of every input.  Where it does not, libFuzzer keeps the input as a finding. */
#define CHECK(is_true) ((is_true) ? (void)0 : fuzz_fail(#is_true, __FILE__, __LINE__))

static inline _Noreturn void fuzz_fail(const char *text, const char *file, int line)
{
	fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, text);
	abort();
}
