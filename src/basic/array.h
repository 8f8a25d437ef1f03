/* SPDX-License-Identifier: MIT */
/* array - appends to growing arrays, and the order of numbers in them. */
#pragma once

#include <stddef.h>

/*
 * Let *@items, a pointer to @room items of @size bytes that may be NULL, have room for one behind
 * the first @count: twice as many where it has none.  -ENOMEM: all is as it was.
 */
int array_reserve(void *items, size_t *room, size_t count, size_t size);

/* The order of numbers, for qsort(3). */
int array_compare_doubles(const void *a, const void *b);
int array_compare_floats(const void *a, const void *b);
