/* SPDX-License-Identifier: MIT */
/*
 * libraries - files that a command is going to map, before it does: itself, and what the dynamic
 * linker would find by a name, wherever it looks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LIBRARIES_CACHE_MAX (16 << 20)

/* @path: a file's, links followed where that can be; @is_program: a program, and no library.  A
 * negative return ends the visit, and is its result. */
typedef int (*library_visitor)(void *context, const char *path, bool is_program);

/* The program of @command as execvp() finds it, and those that other words of it name, which it may
 * launch, as mpirun does, with the interpreters of scripts; all libraries that they need, or that
 * LD_PRELOAD names, also as a word of env(1); then those in their run paths, in $LD_LIBRARY_PATH,
 * and in the linker's cache: as many as there are. */
int libraries_visit(char *const command[], library_visitor visit, void *context);

/* @program, and all libraries that it needs and that these need, as far as they are found where the
 * dynamic linker looks.  @visit returns 1 for one that it has seen before. */
int libraries_visit_needed(const char *program, library_visitor visit, void *context);

/* The paths of a linker's cache, the text of ld.so.cache; what is broken of it is left out. */
int libraries_visit_cache(const char *cache, size_t size, library_visitor visit, void *context);
