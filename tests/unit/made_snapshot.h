/* SPDX-License-Identifier: MIT */
/* made_snapshot - snapshots that no machine took, for tests. */
#pragma once

#include "model/sample.h"
#include "model/snapshot.h"

/* Add to a snapshot that begins as {}; each returns what it added, valid until the next of its
 * kind. */
struct snapshot_job *made_job(struct snapshot *s, const char *manager, const char *id);
uint32_t made_mount(struct snapshot *s, enum row_kind kind, const char *name, const char *fstype);
/* To the job added last. */
struct snapshot_row *made_row(struct snapshot *s, uint32_t mount, enum file_op op,
			      enum file_interface interface, struct op_counts counts);

void made_network(struct snapshot_job *job, const struct network *network); /* in place of what it
									       had */

/* A few jobs of every kind: a full one, one that ended, one of which little is known, one with
 * nasty names. */
void made_snapshot_fill(struct snapshot *s);
/* @jobs jobs with every value, and every operation and way on @mounts mounts; numbers grow with
 * @round. */
void made_snapshot_fill_large(struct snapshot *s, size_t jobs, size_t mounts, uint64_t round);
/* One sample of every metric of node and agent, with odd names. */
void made_samples_fill(struct samples *s);

/* Free what it holds; as made here, not by snapshot_new(). */
void made_snapshot_clear(struct snapshot *s);
