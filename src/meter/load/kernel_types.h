/* SPDX-License-Identifier: MIT */
/*
 * kernel_types - the running kernel's types (BTF), found by name.
 *
 * There are some 100,000 of them, which libbpf searches from end to end for each name: here they
 * are read once, and each name is found at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf;
struct btf_type;
struct kernel_types;

/* The caller owns *ret.  -ENOENT: this kernel has no BTF. */
int kernel_types_open(struct kernel_types **ret);

/* The same from BTF that is loaded already; @btf is taken over, on success only. */
int kernel_types_make(struct btf *btf, struct kernel_types **ret);
struct kernel_types *kernel_types_free(struct kernel_types *types); /* NULL is fine; returns NULL */
void kernel_types_freep(struct kernel_types **types);

/* libbpf's; it lives as long as @types. */
struct btf *kernel_types_btf(const struct kernel_types *types);

/* The number of a type of that name and BTF_KIND_*; -ENOENT: there is none, or @types is NULL. */
int kernel_types_find(const struct kernel_types *types, const char *name, unsigned int kind);

/* The first type with the first @length letters of @name as its name, and the one of the same name
 * after @before; 0: there is no more. */
uint32_t kernel_types_next(const struct kernel_types *types, const char *name, size_t length,
			   uint32_t before);

/* ---- functions and tracepoints; a NULL @types knows none ---- */

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
