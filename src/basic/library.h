/* SPDX-License-Identifier: MIT */
/* library - functions of a shared library, loaded with dlopen() if a setting needs it.
 */
#pragma once

#include <stddef.h>

struct error;

/* Load the first of @files (NULL ends) that is installed, for the process' life, and the functions
 * of these @names into @ret, an array of pointers as long.  -ENOENT: it is not installed, or has no
 * such function. */
int library_load(const char *const *files, const char *const *names, size_t count, void *ret,
		 struct error *err);
