/* SPDX-License-Identifier: MIT */
/*
 * folded - time by stack of probed functions: lines of "rank 0;MPI_File_write_all;MPI_Barrier NS",
 * as flame graphs are made of.  A function's own time is what none below it has.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct folded;
struct trace_call;

struct folded *folded_new(void);
/* Calls of one thread come in the order of their ends; those that did not return are left out. */
int folded_add(struct folded *f, const struct trace_call *call);
bool folded_has_any(const struct folded *f);
/* -EIO and the like: it could not be written. */
int folded_write(const struct folded *f, FILE *out);
struct folded *folded_free(struct folded *f); /* NULL is fine; returns NULL */
void folded_freep(struct folded **f);
