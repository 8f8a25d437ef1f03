/* SPDX-License-Identifier: MIT */
/* pseudo_fs - file systems that hold nothing but what the kernel makes up as it is read: their rows
 * are no mount. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Their magic numbers; the rest of the @count numbers is left 0. */
void pseudo_fs_fill(uint64_t *magics, size_t count);

bool pseudo_fs_is(const char *type);
