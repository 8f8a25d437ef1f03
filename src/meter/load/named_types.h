/* SPDX-License-Identifier: MIT */
/*
 * named_types - those of the running kernel's types that our programs name, with what they are made
 * of, in a file in memory.  libbpf is given them in the place of all that the kernel has, which it
 * would read anew for each object, and search from end to end for each type of it.
 *
 * What a pointer points to is left out, which nobody asks for: who follows it names that type, too.
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
