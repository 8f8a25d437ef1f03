/* SPDX-License-Identifier: MIT */
/*
 * tick_delta - a tick as what it has more than the one before: jobmeter.delta/1, one line of JSON, for who looks again
 * and again.
 *
 * Numbers stand in lists: by the places of the names in the document's own lists of names, so that programs of two
 * versions understand each other; and in the units in which they are stored.  Of a job that the reader has already
 * (it says "again") only what is another than before is there; else all that is known.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"

struct document;
struct error;
struct tick;

#define TICK_DELTA_SCHEMA "jobmeter.delta/1"
#define TICK_DELTA_NUMBER_MAX (UINT64_C(1) << 60) /* of one operation on one mount */

/* All but the jobs, as members of a map that was begun.  @since: what the reader has; NULL: nothing.  Its number, by
 * which he asks for the next one, is its boot_ns. */
void tick_delta_format_head(const struct snapshot *s, const struct snapshot *since, const char *node,
			    struct document *d);

/* Whether rows of both mean the same mounts: else all rows of a job are told again. */
bool tick_delta_has_mounts_of(const struct snapshot *s, const struct snapshot *since);

/* @before: the job as the reader has it; NULL: he has not.  @has_its_mounts: as above. */
void tick_delta_format_job(const struct snapshot *s, const struct snapshot_job *job, const struct snapshot_job *before,
			   bool has_its_mounts, struct document *d);

/* @before: the tick that it was asked for with; NULL: none.  Records share what did not change with it.  -EINVAL: it is
 * no delta; *err says what is wrong.  -ESTALE: it goes on from a tick that this is not: ask for all.  *ret is written
 * on success only. */
int tick_delta_parse(const char *text, size_t length, const struct tick *before, struct tick *ret, struct error *err);

/* "cpu.user_seconds": the name of a metric in lists of names. */
#define TICK_DELTA_NAME_MAX 96
const char *tick_delta_metric_name(enum metric_id id, char ret[TICK_DELTA_NAME_MAX]);
