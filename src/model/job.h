/* SPDX-License-Identifier: MIT */
/*
 * job - who a job on this node is, and what it may use: what a manager, the prolog's file or the
 * cgroup says.
 *
 * Shared by count; nothing here is thread-safe.  Strings are owned by the job; NULL means absent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/reading.h" /* struct value */

struct job {
	unsigned int refs;
	char *manager, *id;
	char *sluid; /* Slurm's second name, of one run of a job; NULL: not known */
	char *user; /* the name, where the uid has one */
	int64_t uid; /* -1: not known yet */
	uint64_t group_id; /* of its top cgroup, as the kernel numbers them, live or not; 0: not
			      known */
	char *account, *partition, *name, *qos, *reservation;
	char *label, *command; /* where it has no name: see job_command.h */
	char *array_id; /* the job that this one is an element of; NULL: of none */
	int64_t array_index; /* -1: of none */
	int64_t het_offset; /* its place in a heterogeneous job; -1: of none */
	struct value allocated_cores; /* in thousandths */
	struct value memory_limit; /* in bytes */
	char *cpus_allowed; /* a CPU list */
	char *gpus; /* minors of the GPUs allocated, as a CPU list is written; "": none */
	/* ns since the epoch; 0: not known, or not yet. */
	uint64_t start_ns, end_ns;
	uint64_t measured_from_ns; /* later than the start, if the agent came later */
	uint64_t start_boot_ns, end_boot_ns; /* the same by CLOCK_BOOTTIME */
	bool is_inside; /* another job, whose numbers have its own in them */
	uint64_t unmeasured_ns; /* of its life since then nobody counted, since there was no agent
				 */
};

struct job *job_new(const char *manager, const char *id); /* one reference; NULL: no memory */
struct job *job_ref(struct job *job);
struct job *job_unref(struct job *job); /* NULL is fine; returns NULL */
void job_unrefp(struct job **job);

/* One of its own, with one reference, for who changes what others look at.  NULL: no memory. */
struct job *job_copy(const struct job *job);
