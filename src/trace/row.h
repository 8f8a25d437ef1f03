/* SPDX-License-Identifier: MIT */
/* row - a probe as the programs of the kernel side read it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/trace_rows.h"

struct error;
struct probe;
struct probe_set;

/* Where a set's numbers begin among those of all sets. */
struct row_base {
	uint8_t group; /* the number of the first set of its group */
	uint8_t maps[4]; /* of each of its maps */
	uint16_t tables[8]; /* the first entry of each of its tables */
};

struct row_options {
	bool sends_events; /* all of them; else those alone for which the probe has a condition */
	bool sums;
};

/* @usdt_arguments: of its site, else NULL.  Generation 0: off.  -ENOTSUP: its arguments cannot be
 * read.  Without events a row has only the values that its sums and map need. */
int row_make(const struct probe_set *set, const struct probe *probe, const struct row_base *base,
	     const struct row_options *options, const char *usdt_arguments, struct trace_row *ret,
	     struct error *err);
