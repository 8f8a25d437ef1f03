/* SPDX-License-Identifier: MIT */
/* device_lines - what a job had block devices do, as reports tell it: a line a device. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "block.h"
#include "humanize.h"

struct record;

#define DEVICE_LINES_MAX (BLOCK_DEVICES_MAX + 1)

struct device_line {
	const char *device;		   /* the record's */
	const struct block_counts *ops[BLOCK_OP_COUNT]; /* the same; of zeros where nothing was done */
};

/* Those that moved most first.  Returns how many there are, none where nothing is known or nothing was done. */
size_t device_lines(const struct record *r, struct device_line ret[DEVICE_LINES_MAX]);

/* The mean time of a request, and that which 99 of 100 did not take; "-": there was none. */
struct human device_mean(const struct block_counts *counts);
struct human device_p99(const struct block_counts *counts);
