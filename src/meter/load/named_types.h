/* SPDX-License-Identifier: MIT */
/*
 * named_types - the kernel types that our programs name, with their members, in a file in memory.
 * libbpf gets it instead of all kernel types, which it would read and search again for each object.
 *
 * The targets of pointers are left out: programs that follow one name its type too.
 */
#pragma once

struct btf;
struct kernel_types;
struct named_types;

/* @from is to live as long as it; the caller owns *ret. */
int named_types_open(const struct kernel_types *from, struct named_types **ret);
struct named_types *named_types_free(struct named_types *types); /* NULL is fine; returns NULL */

/* The file's path, for as long as @types lives. */
const char *named_types_path(const struct named_types *types);

/* Add those that a program's own types, @local, name.  On failure the file stays as it was. */
int named_types_add(struct named_types *types, const struct btf *local);
