/* SPDX-License-Identifier: MIT */
/*
 * template - a sentence with numbers in it: "{memory_peak_bytes} of {memory_limit_bytes} were
 * used".
 *
 * Braces hold an expression, shown by its dimension; ":memory" behind it shows bytes as Slurm's
 * --mem takes them, ":whole" a number rounded up, ":signal" the name of a signal. Words: "{mount}"
 * is the name of the mount, "{on_mount}" is " on /scratch" or nothing, "{command}" the command's
 * name without its directory, "{oom_command}" that of the largest process that was killed for want
 * of memory; the last two can begin a sentence if the name is not known. "{empty_polls}" is
 * " (3 polls that found nothing, 7 yields of the CPU)", or nothing if there were none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analysis/expression.h"

#define TEMPLATE_BYTES_MAX 1024
#define TEMPLATE_PARTS_MAX 32

struct template; /* opaque */

/* -EINVAL: *err is "column N: REASON". */
int template_parse(const char *text, const struct names *names, struct template **ret,
		   struct error *err);
struct template *template_free(struct template *t); /* NULL is fine; returns NULL */
void template_freep(struct template **t);

/* As it was written. */
const char *template_text(const struct template *t);

/* The expressions in it; NULL: there are no more. */
const struct expression *template_expression(const struct template *t, size_t i);

/* The sentence; the caller frees.  NULL: one of its numbers is not known, or no memory. */
char *template_format(const struct template *t, const struct subject *subject);
