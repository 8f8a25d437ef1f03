/* SPDX-License-Identifier: MIT */
/*
 * amount - a number that may be unknown, and what it counts.
 *
 * Numbers are in base units: bytes, seconds, cores; a share of one half is 0.5, and shown as "50
 * %".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/humanize.h"
#include "model/metric.h"

struct document;

struct amount {
	double number;
	bool is_known;
};

/* Bytes and seconds stand there by their power: bytes per second are { 1, -1 }.  All other things
 * (calls, cores, ratios) are plain numbers. */
struct dimension {
	signed char bytes, seconds;
	bool is_share; /* a plain number that people want in percent */
};

#define DIMENSION_NUMBER ((struct dimension){})
#define DIMENSION_BYTES ((struct dimension){ .bytes = 1 })
#define DIMENSION_SECONDS ((struct dimension){ .seconds = 1 })
#define DIMENSION_SHARE ((struct dimension){ .is_share = true })
#define DIMENSION_PER_SECOND ((struct dimension){ .seconds = -1 })
#define DIMENSION_RATE ((struct dimension){ .bytes = 1, .seconds = -1 }) /* bytes per second */

/* Known, and a number that can be told: what is no number (0 / 0) is not known. */
struct amount amount_of(double number);

/* Of what is not known nothing follows. */
struct amount amount_divide(struct amount a, struct amount b);
struct amount amount_add(struct amount a, struct amount b);
struct amount amount_multiply(struct amount a, struct amount b);
struct amount amount_left(struct amount a, struct amount b); /* what is left of @a; nothing is the
								least */

/* Of what a metric stores. */
struct amount amount_of_metric(enum metric_id id, uint64_t stored);
struct dimension dimension_of_metric(enum metric_id id);

bool dimension_is_plain(struct dimension d); /* neither bytes nor seconds */
bool dimension_is_equal(struct dimension a, struct dimension b); /* a share and a plain number are
								  */

/* "bytes", "bytes per second", "a share", "a number"... */
struct human dimension_name(struct dimension d);

/* As people read it: "3.1 GiB", "12.4 s", "38 %", "1.9 M", "2.1"; "-": not known. */
struct human amount_format(struct amount a, struct dimension d);

/* The same with all digits of a plain number, as somebody wrote it who may want to change it:
 * "0.85". */
struct human amount_format_exact(struct amount a, struct dimension d);

/* Bytes as Slurm's --mem takes them, rounded up to a whole number that is easily typed: "4G",
 * "512M". */
struct human amount_format_memory(struct amount bytes);

/* In base units, to six digits behind the point; null: not known. */
void amount_write(struct amount a, struct document *d);
