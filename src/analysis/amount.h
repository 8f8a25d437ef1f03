/* SPDX-License-Identifier: MIT */
/*
 * amount - a number that may be unknown, with its dimension.
 *
 * Numbers are in base units: bytes, seconds, cores; a share of 0.5 is shown as "50 %".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/humanize.h"
#include "model/metric.h"

struct document;
struct value;

struct amount {
	double number;
	bool is_known;
};

/* Powers of bytes and seconds: bytes per second are { 1, -1 }.  Calls, cores and ratios are plain
 * numbers. */
struct dimension {
	signed char bytes, seconds;
	bool is_share; /* a plain number, shown in percent */
};

#define DIMENSION_NUMBER ((struct dimension){})
#define DIMENSION_BYTES ((struct dimension){ .bytes = 1 })
#define DIMENSION_SECONDS ((struct dimension){ .seconds = 1 })
#define DIMENSION_SHARE ((struct dimension){ .is_share = true })
#define DIMENSION_PER_SECOND ((struct dimension){ .seconds = -1 })
#define DIMENSION_RATE ((struct dimension){ .bytes = 1, .seconds = -1 }) /* bytes per second */

/* Known, unless @number is not finite (0 / 0). */
struct amount amount_of(double number);

/* Unknown if either is. */
struct amount amount_divide(struct amount a, struct amount b);
struct amount amount_add(struct amount a, struct amount b);
struct amount amount_multiply(struct amount a, struct amount b);
struct amount amount_left(struct amount a, struct amount b); /* a - b, at least 0 */

/* Of a metric's stored number. */
struct amount amount_of_metric(enum metric_id id, uint64_t stored);
struct amount amount_of_value(enum metric_id id, const struct value *v);
struct dimension dimension_of_metric(enum metric_id id);

bool dimension_is_plain(struct dimension d); /* neither bytes nor seconds */
bool dimension_is_equal(struct dimension a, struct dimension b); /* a share is a plain number */

/* "bytes", "bytes per second", "a share", "a number"... */
struct human dimension_name(struct dimension d);

/* As people read it: "3.1 GiB", "12.4 s", "38 %", "1.9 M", "2.1"; "-": not known. */
struct human amount_format(struct amount a, struct dimension d);

/* The same with all digits of a plain number, for texts that somebody may edit: "0.85". */
struct human amount_format_exact(struct amount a, struct dimension d);

/* Bytes as Slurm's --mem takes them, rounded up to a number that is easy to type: "4G", "512M". */
struct human amount_format_memory(struct amount bytes);

/* In base units, to six decimals; null: not known.  With a key: as a member of a map. */
void amount_write(struct amount a, struct document *d);
void amount_put(struct document *d, const char *key, struct amount a);
