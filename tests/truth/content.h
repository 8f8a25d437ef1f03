/* SPDX-License-Identifier: MIT */
/* content - bytes that tell where in their file they belong, so that what arrives can be checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "work.h"

void content_fill(char *buffer, size_t bytes, off_t at);
bool content_is(const char *buffer, size_t bytes, off_t at);

/* Create the file @path with @bytes of content by as few writes as it takes. */
struct path;
struct file content_create(struct worker *w, int place, const struct path *path, size_t bytes);

/* Read @bytes at @at, and note in the worker should they not be those of @origin and on. */
void content_check(struct worker *w, struct file file, off_t at, size_t bytes, off_t origin);
