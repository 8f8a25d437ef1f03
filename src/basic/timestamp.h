/* SPDX-License-Identifier: MIT */
/* timestamp - times as ns since the epoch, and as RFC 3339 in UTC. */
#pragma once

#include <stdint.h>

#define TIMESTAMP_SIZE 32

/* "2026-02-03T04:05:06.123456789Z" into @buffer, which is returned. */
char *timestamp_format(char buffer[TIMESTAMP_SIZE], uint64_t ns);

/* Reads what timestamp_format() writes, with 0 to 9 digits of fraction.  -EINVAL, -ERANGE. */
int timestamp_parse(const char *text, uint64_t *ret);
