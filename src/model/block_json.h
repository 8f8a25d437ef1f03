/* SPDX-License-Identifier: MIT */
/* block_json - what a job had block devices do as a record's member `block`, and back. */
#pragma once

#include <jansson.h>

struct block;
struct document;
struct place;

/* A list of devices.  @b must be known. */
void block_format(const struct block *b, struct document *d);

/* @list is found at @place.  Fills @ret, which must be empty.  -EINVAL: the place's error says why. */
int block_parse(const struct place *place, const json_t *list, struct block *ret);
