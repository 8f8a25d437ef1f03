/* SPDX-License-Identifier: MIT */
#include "http/budgets.h"

#include "basic/macro.h"

#define NS_PER_MS (1000000 * BUDGETS_PERCENT / 100)

static void refill(struct budget *one, uint64_t now_ms)
{
	uint64_t passed_ms = now_ms > one->at_ms ? now_ms - one->at_ms : 0;

	one->missing_ns -= MIN((int64_t)MIN(passed_ms, UINT64_C(1000000)) * NS_PER_MS,
			       one->missing_ns);
	one->at_ms = now_ms;
}

static struct budget *find(struct budgets *b, uint32_t user, uint64_t now_ms)
{
	struct budget *free_one = NULL;

	for (size_t i = 0; i < BUDGETS_USERS_MAX; i++) {
		struct budget *one = &b->items[i];

		refill(one, now_ms);
		if (one->missing_ns && one->user == user)
			return one;
		if (!one->missing_ns && !free_one)
			free_one = one;
	}
	if (!free_one) {
		free_one = &b->items[BUDGETS_USERS_MAX];
		refill(free_one, now_ms);
	}
	free_one->user = user;
	return free_one;
}

static int64_t burst_of(const struct budgets *b)
{
	return b->burst_ns ? b->burst_ns : BUDGETS_BURST_NS;
}

uint64_t budgets_wait_ms(struct budgets *b, uint32_t user, uint64_t now_ms)
{
	int64_t owed_ns = find(b, user, now_ms)->missing_ns - burst_of(b);

	return owed_ns > 0 ? (uint64_t)(owed_ns + NS_PER_MS - 1) / NS_PER_MS : 0;
}

void budgets_charge(struct budgets *b, uint32_t user, uint64_t cost_ns, uint64_t now_ms)
{
	struct budget *one = find(b, user, now_ms);

	int64_t most_ns = burst_of(b) + BUDGETS_OWED_NS;

	one->missing_ns = MIN(one->missing_ns + (int64_t)MIN(cost_ns, (uint64_t)most_ns), most_ns);
}
