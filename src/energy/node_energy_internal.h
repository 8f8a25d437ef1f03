/* SPDX-License-Identifier: MIT */
/* node_energy_internal - shared by the files of node energy. */
#pragma once

#include "energy/attribution.h"
#include "energy/idle_power.h"
#include "energy/node_energy.h"

/* What was taken in of a sensor. */
struct taken {
	char source[ENERGY_SOURCE_SIZE], name[ENERGY_NAME_SIZE];
	uint64_t total_uj, gap_uj, boot_ns;
	bool has_raw; /* as in struct energy_total, for the next agent */
	uint64_t raw_uj;
	uint64_t before_uj, before_gap_ns; /* by previous agents, and in between */
	uint64_t told_uj, told_gap_ns; /* the total, as scraped */
	bool is_restored; /* by an agent before us */
	bool is_used; /* it is counted, since the reading before at least */
	/* From its sensor, once it is counted: */
	enum energy_pool pool;
	bool is_measured;
};

struct uses { /* by a moment */
	struct energy_use cpu, memory;
};

struct node_job {
	struct energy_owner owner;
	char *manager, *id;
	uint64_t start_ns; /* by CLOCK_BOOTTIME; one of several of that id */
	uint64_t cpu_ns; /* that it has used so far */
	uint64_t gpu_uj; /* of GPUs that it held, so far; UINT64_MAX: not known yet */
	bool is_seen; /* in the snapshot that is being taken */
	/* Of the processor's counters, if they were known: so far, and since the reading before. */
	bool was_counted, is_counted;
	struct energy_counts counts, counted;
	uint64_t used_ns; /* CPU time since the reading before */
	uint64_t wants_us; /* it was there so long since then, and has no cores of its own */
	/* When it was there since then; both 0: it was not. */
	uint64_t there_from_ns, there_until_ns;
	uint64_t active_until_ns; /* it had a group; at most the latter */
	struct uses before; /* by the reading before */
	struct energy_use whole; /* of the pool that is being cut: until its end */
	/* For the ledger: the owner, and how much is written. */
	uint64_t start_real_ns;
	int64_t uid;
	uint64_t sent_uj[ENERGY_CHANNELS_MAX];
};

struct pool {
	bool is_open;
	uint64_t last_ns; /* when it was closed, by CLOCK_BOOTTIME */
	uint64_t busy_ns; /* of the node, by then */
	struct idle_power idle;
};

/* What sensors of components said between two readings. */
struct mark {
	uint64_t ns, uj[POOL_COUNT]; /* uj: since the reading before */
	bool has[POOL_COUNT]; /* that pool's were read */
};
#define MARKS_MAX 64

struct node_energy {
	struct energy_machine machine;
	struct attribution attribution;
	struct pool pools[POOL_COUNT];
	struct energy_readings readings; /* the last */
	bool counted[ENERGY_SENSORS_MAX]; /* of these */
	struct taken *taken;
	size_t taken_count, taken_room;
	struct node_job **jobs;
	struct energy_owner **owners; /* theirs, in the same order */
	size_t job_count, job_room, owner_room;
	size_t next_found; /* where the search for a job begins */
	uint64_t gone_uj; /* of jobs that are no longer there */
	uint64_t last_ns; /* of the snapshot before; 0: this is the first */
	uint64_t now_ns; /* of the one that is being taken */
	uint64_t busy_ns, busy_from_ns, jobs_cpu_ns;
	/* By the reading before: */
	uint64_t busy_before_ns;
	struct uses system_before;
	struct mark marks[MARKS_MAX]; /* since the reading before, in order */
	size_t mark_count;
	uint64_t edges; /* marks so far */
	/* The ledger: lines are wanted; since when there was none; of the last. */
	bool has_ledger;
	uint64_t ledger_start_ns, ledger_sequence;
	uint64_t sent_uj[3][ENERGY_CHANNELS_MAX]; /* of the system, idle, unattributed */
};

/* Close an interval of a pool of components up to @until_ns, cut at the marks within. @idle_uw:
 * power. */
void node_energy_close_cut(struct node_energy *e, size_t channel,
			   const struct energy_interval *whole, uint64_t idle_uw,
			   uint64_t until_ns);

/* Close an interval of a slow sensor that ended at @until_ns, between two readings: work in
 * between counts as even. */
void node_energy_close_late(struct node_energy *e, size_t channel,
			    const struct energy_interval *interval, uint64_t until_ns);
/* The value at @ns of a number that grew evenly from @mark at @from_ns to @whole at @until_ns. */
uint64_t node_energy_grown(uint64_t mark, uint64_t whole, uint64_t from_ns, uint64_t until_ns,
			   uint64_t ns);

/* The owners that are no jobs, in the order of sent_uj. */
#define OTHERS_COUNT 3
struct energy_owner *node_energy_other(struct node_energy *e, size_t i);

/* A job of that name, which is added; NULL: no memory. */
struct node_job *node_energy_add_job(struct node_energy *e, const char *manager, const char *id,
				     uint64_t start_ns);
/* NULL: nothing was taken of that sensor. */
struct taken *node_energy_find_taken(const struct node_energy *e, const char *source,
				     const char *name);
/* What was taken of a sensor, which is added; NULL: no memory. */
struct taken *node_energy_taken(struct node_energy *e, const char *source, const char *name);
