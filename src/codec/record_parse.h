/* SPDX-License-Identifier: MIT */
/*
 * record_parse - a record comes back from parsed JSON.
 *
 * Strict about types and bounds, since a record may come from anywhere; keys that are not known are
 * left alone, since it may come from a newer version; what is missing is absent.
 */
#pragma once

#include <jansson.h>

struct error;
struct record;
struct shape;

/* What of a record is neither metric, field nor section, with its key; of a struct record. */
extern const struct shape record_survivors_shape, record_merged_shape;

/* The caller owns *ret.  -EINVAL: not a record; *err says what is wrong, and where in it. */
int record_parse(const json_t *root, struct record **ret, struct error *err);
