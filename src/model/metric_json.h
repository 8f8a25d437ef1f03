/* SPDX-License-Identifier: MIT */
/* metric_json - one metric's number in a record's text: in its unit, null where it is not known. */
#pragma once

#include <jansson.h>

#include "reading.h"

struct document;
struct place;

/* Write "KEY: NUMBER". */
void metric_format(const struct metric *metric, bool is_known, uint64_t number, struct document *d);
/* -EINVAL: it is no number. */
int metric_take(const struct place *place, const json_t *map, const struct metric *metric,
		struct value *ret);
