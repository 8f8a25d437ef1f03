/* SPDX-License-Identifier: MIT */
/* prototypes - what the running kernel's functions and tracepoints look like, by its BTF. */
#pragma once

#include <stdbool.h>

struct kernel_types;

/* All take a NULL @types, of which nothing is known. */

/* The kernel has a function of that name, not inlined everywhere. */
bool prototype_has_function(const struct kernel_types *types, const char *function);

/* A loaded module has it. */
bool prototype_is_in_module(const struct kernel_types *types, const char *module,
			    const char *function);

/* How many arguments a tracepoint hands out; -ENOENT: there is no such tracepoint. */
int prototype_count_arguments(const struct kernel_types *types, const char *tracepoint);

/* Is a function's second argument, and not its first, a struct dentry? */
bool prototype_has_dentry_second(const struct kernel_types *types, const char *function);

/* The kernel's number of a constant of a named enum; -ENOENT: there is none. */
int prototype_enum_value(const struct kernel_types *types, const char *type, const char *name);
