/* SPDX-License-Identifier: MIT */
/*
 * block - what a job had block devices do, by device and operation: the numbers of SCOPE_DEVICE.
 *
 * A request here is what was submitted at once (the kernel's struct bio): on its way to the device
 * several may become one, and one several.  Its time is from then to its end, so that waiting in
 * queues is part of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/histogram.h"
#include "model/metric.h"

struct parts;

enum block_op {
	BLOCK_READ,
	BLOCK_WRITE,
	BLOCK_DISCARD,
	BLOCK_FLUSH, /* of the device's cache, without data */
	BLOCK_OP_COUNT,
};

struct block_counts {
	uint64_t bytes; /* of requests that went well */
	uint64_t requests, errors, ns;
	struct histogram latencies; /* of all requests */
};

#define BLOCK_DEVICE_SIZE 32 /* the kernel's DISK_NAME_LEN */
#define BLOCK_DEVICES_MAX 64 /* of one job; what is beyond is BLOCK_OTHER */
#define BLOCK_OTHER "(other)"

struct block_row { /* as the kernel side counts */
	char device[BLOCK_DEVICE_SIZE]; /* the whole disk: "nvme0n1", never empty */
	enum block_op op;
	struct block_counts counts;
};

struct block_device {
	char name[BLOCK_DEVICE_SIZE];
	struct block_counts ops[BLOCK_OP_COUNT]; /* of zeros where nothing was done */
};

struct block { /* begins as {} */
	bool is_known;
	struct block_device *items; /* owned; sorted by name as strverscmp(3) has it */
	size_t count;
};

void block_clear(void *section); /* struct block */

/* That of a job; not known where there is none. */
const struct block *block_of(const struct parts *p);

/* Add to the device of that name, which is made where there is none.  -ENOMEM. */
int block_add(struct block *b, const char *device, enum block_op op,
	      const struct block_counts *counts);
/* NULL: there is none. */
const struct block_device *block_find(const struct block *b, const char *device);

/* A metric of SCOPE_DEVICE: whether anything was done of its operation; its number, but no
 * histogram. */
bool block_has(const struct block_device *d, enum metric_id id);
uint64_t block_number(const struct block_device *d, enum metric_id id);
/* Over all devices; those that stand on others count twice. */
uint64_t block_total(const struct block *b, enum metric_id id);
