/* SPDX-License-Identifier: MIT */
/*
 * node energy - whose the node's energy is: at each reading it takes what the sensors say, divides
 * it (energy/attribution.h) by what jobs did since the reading before, and puts each job's share
 * into the snapshot.
 *
 * Whatever cannot be had is left out: a node without a sensor and without an estimate has none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "energy/attribution.h"

struct document;
struct energy_readings;
struct error;
struct ledger;
struct record;
struct node_energy;
struct samples;
struct snapshot;

/* @root_fd outlives it. -ENOMEM. */
int node_energy_new(int root_fd, enum energy_policy policy, struct node_energy **ret);
struct node_energy *node_energy_free(struct node_energy *e); /* NULL is fine; returns NULL */

/* Take in what all sensors said last, for a snapshot that nobody has seen yet, whose jobs get
 * theirs. -ENOMEM. */
int node_energy_take(struct node_energy *e, const struct energy_readings *readings,
		     struct snapshot *s);

/*
 * A job began or ended between two readings, and sensors of components say this.  The interval is
 * cut here when it is divided: a job has a part in what came while it was there, and its work is
 * spread evenly over that time.  With more than 64 in an interval the rest is not taken.
 */
void node_energy_mark(struct node_energy *e, const struct energy_readings *readings);

/* Jobs of a snapshot in between get what they had by then.  -ENOMEM. */
int node_energy_show(struct node_energy *e, struct snapshot *s);

/* The same of a run that nobody samples, whose record is @record, when it is over: it began after
 * the first call, which had no record (NULL).  -ENOMEM. */
int node_energy_take_run(struct node_energy *e, const struct energy_readings *readings,
			 uint64_t start_boot_ns, uint64_t end_boot_ns, struct record *record);

/*
 * The ledger: what owners have that was in no line yet, once a quarter of an hour of the wall clock
 * is over at @real_ns; false: it is not, or nobody wants any.  Texts are e's until the next
 * reading; the caller clears it.  When it is written, it is to be told.
 */
void node_energy_want_ledger(struct node_energy *e, bool is_wanted, uint64_t real_ns);
bool node_energy_get_ledger(struct node_energy *e, uint64_t real_ns, struct ledger *ret);
void node_energy_set_written(struct node_energy *e, const struct ledger *ledger);

/* All of it for the next agent, as bytes; the caller frees.  -ENODATA: no sensor ever said
 * anything; -ENOMEM. */
int node_energy_format_state(struct node_energy *e, const char *boot_id, char **ret,
			     size_t *ret_length);
/* The way back, before the first reading.  Of another boot only what was learned is taken. -EINVAL:
 * it is none; -ENOMEM. */
int node_energy_parse_state(struct node_energy *e, const char *boot_id, const char *text,
			    size_t length, struct error *err);

/* What sensors say now, whose the energy was, and what was learned: jobmeter.energy/1. */
void node_energy_format(struct node_energy *e, struct document *d);

/* What is scraped of the node.  -ENOMEM, -ENOSPC. */
int node_energy_put_samples(const struct node_energy *e, struct samples *to);
