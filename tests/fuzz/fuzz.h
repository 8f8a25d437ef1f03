/* SPDX-License-Identifier: MIT */
/* fuzz - what libFuzzer, or replay.c in its place, calls. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
