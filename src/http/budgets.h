/* SPDX-License-Identifier: MIT */
/*
 * budgets - what each user's requests may take of the processor: a share of one core, in the long
 * run.
 *
 * Each has a balance, which grows with time up to a burst.  What a request took is known only
 * afterwards, and taken off: who is below zero waits.  Pure arithmetic, and bounded: where too many
 * users ask at once, the rest share one balance.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BUDGETS_PERCENT 10 /* of a core */
#define BUDGETS_BURST_NS INT64_C(500000000) /* what may be taken at once; and owed: for 5 s */
#define BUDGETS_REQUEST_NS \
	UINT64_C(150000) /* what library and loop take for a request, which nobody measures */
#define BUDGETS_USERS_MAX 128

struct budget {
	uint32_t user;
	int64_t missing_ns; /* of the burst; 0: this entry is free */
	uint64_t at_ms;
};

struct budgets { /* begins as {} */
	struct budget items[BUDGETS_USERS_MAX + 1]; /* the last: of all that have none */
};

/* Until this user may go on; 0: now. */
uint64_t budgets_wait_ms(struct budgets *b, uint32_t user, uint64_t now_ms);
void budgets_charge(struct budgets *b, uint32_t user, uint64_t cost_ns, uint64_t now_ms);
