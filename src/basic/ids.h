/* SPDX-License-Identifier: MIT */
/* ids - lists of 64-bit numbers that are sorted, so that one is found fast. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int ids_compare(const void *a, const void *b); /* for qsort(3), of uint64_t */
void ids_sort(uint64_t *ids, size_t count);
bool ids_contain(const uint64_t *ids, size_t count, uint64_t id); /* of sorted ones */
