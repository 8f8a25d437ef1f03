/* SPDX-License-Identifier: MIT */
/*
 * node energy - divides the node's energy among jobs: at each reading it takes the sensors' values,
 * divides them (energy/attribution.h) by the work of jobs since the previous reading, and adds each
 * job's share to the snapshot.
 *
 * Numbers that are not available are absent: a node without a sensor and without an estimate has
 * none.
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

/* The machine whose energy it is: see machine_for_energy(). */
struct energy_machine {
	int root_fd; /* outlives it */
	uint64_t cpus; /* online; 0: not known */
	uint64_t memory_kib; /* likewise */
	/* CPU time of all CPUs since boot that was not idle, in ns; negative errno: not known. */
	int (*read_busy)(int root_fd, uint64_t *ret_ns);
};

/* -ENOMEM. */
int node_energy_new(struct energy_machine machine, enum energy_policy policy,
		    struct node_energy **ret);
struct node_energy *node_energy_free(struct node_energy *e); /* NULL is fine; returns NULL */

/* Take the last values of all sensors, and set the energy of the jobs of a new snapshot.
 * -ENOMEM. */
int node_energy_take(struct node_energy *e, const struct energy_readings *readings,
		     struct snapshot *s);

/*
 * A job began or ended between two readings, and these are the values of the component sensors. The
 * interval is cut here when it is divided: a job has a share in the energy while it was there, and
 * its work is spread evenly over that time. At most 64 marks an interval.
 */
void node_energy_mark(struct node_energy *e, const struct energy_readings *readings);

/* Set the energy so far of the jobs of a snapshot in between. -ENOMEM. */
int node_energy_show(struct node_energy *e, struct snapshot *s);

/* The same for a `run` without a sampler, when it is over; its record is @record. A first call,
 * with a NULL record, is made before it begins. -ENOMEM. */
int node_energy_take_run(struct node_energy *e, const struct energy_readings *readings,
			 uint64_t start_boot_ns, uint64_t end_boot_ns, struct record *record);

/*
 * The ledger: the energy of owners that is in no line yet, once a quarter of an hour of wall-clock
 * time is over at @real_ns; false: not yet, or no ledger is wanted. Texts are valid until the next
 * reading; the caller clears it, and calls node_energy_set_written() when it is written.
 */
void node_energy_want_ledger(struct node_energy *e, bool is_wanted, uint64_t real_ns);
bool node_energy_get_ledger(struct node_energy *e, uint64_t real_ns, struct ledger *ret);
void node_energy_set_written(struct node_energy *e, const struct ledger *ledger);

/* All of it for the next agent, as bytes; the caller frees.  -ENODATA: no sensor ever said
 * anything; -ENOMEM. */
int node_energy_format_state(struct node_energy *e, const char *boot_id, char **ret,
			     size_t *ret_length);
/* Restores it, before the first reading. From another boot only learned values are taken.
 * -EINVAL: not such a state; -ENOMEM. */
int node_energy_parse_state(struct node_energy *e, const char *boot_id, const char *text,
			    size_t length, struct error *err);

/* Present values of sensors, owners of the energy, and learned values: jobmeter.energy/1. */
void node_energy_format(struct node_energy *e, struct document *d);

/* What is scraped of the node.  -ENOMEM, -ENOSPC. */
int node_energy_put_samples(const struct node_energy *e, struct samples *to);
