/* SPDX-License-Identifier: MIT */
/*
 * gpu_holders - the holders of a card, or of an instance of one, and their parts.
 *
 * The allocation of the site's prolog decides; for cards without one, the processes on them do,
 * never the environment of a process. Pure, and exact: the parts of an amount add up to it.
 */
#pragma once

#include "sources/gpu_driver.h"

struct gpu_claim { /* a job's allocation from the prolog */
	char *path; /* of the job's cgroup; owned */
	bool minors[GPU_CARDS_MAX];
};

struct gpu_holder {
	const char *path; /* of a process' cgroup, or of a job's; the reading's or the claim's */
	const struct gpu_process *process; /* NULL: a job that has none there */
	uint64_t from, until; /* its part of the unit's weight */
};

struct gpu_unit { /* a card, or an instance of one */
	char name[GPU_NAME_SIZE], uuid[GPU_UUID_SIZE];
	struct value memory_total, memory_used;
	struct value busy; /* hundredths; of an instance */
	uint64_t from, until, slices; /* its part of the card's slices */
	struct gpu_holder *holders; /* owned */
	size_t count;
	uint64_t weight; /* of all holders; 0: none */
};

struct gpu_units {
	struct gpu_unit items[GPU_INSTANCES_MAX];
	size_t count;
};

/* @claims: of all jobs.  Both and the reading outlive the units.  -ENOMEM. */
int gpu_units_make(const struct gpu_identity *card, const struct gpu_reading *reading,
		   const struct gpu_claim *claims, size_t claim_count, struct gpu_units *ret);
void gpu_units_clear(struct gpu_units *u);

/* The part of @amount from @from until @until of @whole, rounded so that all parts are @amount. */
uint64_t gpu_part(uint64_t amount, uint64_t from, uint64_t until, uint64_t whole);
uint64_t gpu_holder_part(const struct gpu_unit *u, const struct gpu_holder *h, uint64_t amount);
