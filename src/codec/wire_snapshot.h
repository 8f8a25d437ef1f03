/* SPDX-License-Identifier: MIT */
/*
 * tick - the records of all jobs of a node at one moment: jobmeter.snapshot/1, one line of JSON.
 *
 * Of two ticks the difference is what the jobs did meanwhile: so records are cumulative, and short:
 * without histograms and timelines, and of who takes that, with sums of files in place of rows.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "codec/records.h"
#include "model/node_values.h"

struct document;
struct error;
struct job;

#define WIRE_SNAPSHOT_SCHEMA "jobmeter.snapshot/1"
#define WIRE_SNAPSHOT_JOBS_MAX 65536

struct tick { /* begins as {} */
	uint64_t real_ns; /* when the reading began, since the epoch; 0: not known */
	uint64_t boot_ns; /* the same by CLOCK_BOOTTIME, which nobody sets: for differences */
	uint64_t took_ns; /* how long the reading took; 0: not known */
	struct node_values node; /* of about that moment: it says which */
	struct records jobs; /* owned */
};

void wire_snapshot_clear(struct tick *t);

/* All but the jobs, as members of a map that was begun: "schema", "time"... */
void wire_snapshot_format_head(const struct tick *t, struct document *d);

/* Of a job that did nothing since the tick that the reader has: no more than which it is, and how
 * old. */
void wire_snapshot_format_unchanged(const struct job *job, uint64_t elapsed_ns, struct document *d);

/* @before: the tick that the reader has (NULL: none), with which the result shares the records of
 * jobs that did nothing since, as old as they are now.  -EINVAL: it is not a tick; *err says what
 * is wrong, and where in it.  -ESTALE: it leaves out a job that is not in @before: ask for all.
 * *ret is written on success only. */
int wire_snapshot_parse(const char *text, size_t length, const struct tick *before,
			struct tick *ret, struct error *err);
