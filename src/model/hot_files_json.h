/* SPDX-License-Identifier: MIT */
/* hot_files_json - the files of a record as its member `files`, and back. */
#pragma once

#include <jansson.h>

struct document;
struct hot_files;
struct place;

/* @files must be known. */
void hot_files_format(const struct hot_files *files, struct document *d);

/* @map is found at @place.  Fills @ret, which must be empty.  -EINVAL: the place's error says why. */
int hot_files_parse(const struct place *place, const json_t *map, struct hot_files *ret);
