/* SPDX-License-Identifier: MIT */
/*
 * budgets - limits the CPU time of each user's requests: a share of one core, in the long run.
 *
 * Each has a balance, which grows with time up to a burst.  The cost of a request is subtracted
 * afterwards; users below zero wait. Pure arithmetic, and bounded: if too many users ask at once,
 * the rest share one balance.
 */
#pragma once

#include <stdint.h>

#define BUDGETS_PERCENT 10 /* of a core */
#define BUDGETS_BURST_NS INT64_C(500000000) /* what may be taken at once */
#define BUDGETS_OWED_NS INT64_C(500000000) /* and be owed at most: for 5 s */
#define BUDGETS_REQUEST_NS UINT64_C(150000) /* unmeasured cost of a request in library and loop */
#define BUDGETS_USERS_MAX 128

struct budget {
	uint32_t user;
	int64_t missing_ns; /* of the burst; 0: this entry is free */
	uint64_t at_ms;
};

struct budgets { /* begins as {} */
	int64_t burst_ns; /* 0: BUDGETS_BURST_NS */
	struct budget items[BUDGETS_USERS_MAX + 1]; /* the last: of all that have none */
};

/* Time until this user may continue; 0: now. */
uint64_t budgets_wait_ms(struct budgets *b, uint32_t user, uint64_t now_ms);
void budgets_charge(struct budgets *b, uint32_t user, uint64_t cost_ns, uint64_t now_ms);
