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

/* What is scraped of the node.  -ENOMEM, -ENOSPC. */
int node_energy_put_samples(const struct node_energy *e, struct samples *to);
