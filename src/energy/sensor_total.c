/* SPDX-License-Identifier: MIT */
#include "energy/sensor_total.h"

#define NS_OF_A_SECOND UINT64_C(1000000000)
#define POWER_MAX_UW UINT64_C(1000000000) /* no processor takes a kilowatt */
#define AGE_MAX_NS (60 * NS_OF_A_SECOND)

/* Whole microjoules of that power over that time, at most 2^63 - 1; the remainder goes to *rest. */
static uint64_t energy_of(uint64_t uw, uint64_t ns, uint64_t *rest)
{
	const unsigned __int128 sum = (unsigned __int128)uw * ns + *rest;
	const unsigned __int128 uj = sum / NS_OF_A_SECOND;

	*rest = (uint64_t)(sum % NS_OF_A_SECOND);
	return uj > INT64_MAX ? INT64_MAX : (uint64_t)uj;
}

static uint64_t power_of(uint64_t uj, uint64_t ns)
{
	const unsigned __int128 uw = (unsigned __int128)uj * NS_OF_A_SECOND / ns;

	return uw > INT64_MAX ? INT64_MAX : (uint64_t)uw;
}

static void add_gap(struct energy_total *t, uint64_t ns, uint64_t *rest)
{
	t->gap_ns += ns;
	if (t->has_power)
		t->gap_uj += energy_of(t->power_uw, ns, rest);
}

/* ---- counters ---- */

static void counter_set(struct energy_counter *c, uint64_t uj, uint64_t boot_ns)
{
	c->has_last = c->total.has_raw = true;
	c->last_uj = c->total.raw_uj = uj;
	c->last_ns = boot_ns;
	c->total.range_uj = c->range_uj;
}

static bool counter_may_wrap_twice(const struct energy_counter *c, uint64_t ns)
{
	uint64_t rest = 0;
	const uint64_t max_uw = c->power_max_uw ? c->power_max_uw : POWER_MAX_UW;

	return c->range_uj && energy_of(max_uw, ns, &rest) >= c->range_uj;
}

void energy_counter_restart(struct energy_counter *c, uint64_t uj, uint64_t boot_ns)
{
	uint64_t rest = 0;

	if (c->has_last && boot_ns <= c->last_ns)
		return;
	if (c->has_last)
		add_gap(&c->total, boot_ns - c->last_ns, &rest);
	counter_set(c, uj, boot_ns);
}

void energy_counter_take(struct energy_counter *c, uint64_t uj, uint64_t boot_ns)
{
	uint64_t ns, came;

	if (c->has_last && boot_ns <= c->last_ns)
		return;
	ns = boot_ns - c->last_ns;
	if (!c->has_last || counter_may_wrap_twice(c, ns) ||
	    (uj < c->last_uj && (!c->range_uj || c->last_uj > c->range_uj))) {
		energy_counter_restart(c, uj, boot_ns);
		return;
	}
	/* From its range it goes to 0 with one more count, the unit's smallest step, which is
	 * not known: the kernel's own driver leaves it out, too. */
	came = uj >= c->last_uj ? uj - c->last_uj : c->range_uj - c->last_uj + uj;
	c->total.total_uj += came;
	c->total.power_uw = power_of(came, ns);
	c->total.has_power = true;
	counter_set(c, uj, boot_ns);
}

/* ---- powers ---- */

void energy_integral_take(struct energy_integral *i, uint64_t uw, uint64_t boot_ns)
{
	const uint64_t age_max_ns = i->age_max_ns ? i->age_max_ns : AGE_MAX_NS;

	if (i->has_last && boot_ns <= i->last_ns)
		return;
	if (i->has_last && boot_ns - i->last_ns > age_max_ns)
		add_gap(&i->total, boot_ns - i->last_ns, &i->gap_rest);
	else if (i->has_last)
		i->total.total_uj += energy_of(i->last_uw / 2 + uw / 2 + (i->last_uw & uw & 1),
					       boot_ns - i->last_ns, &i->rest);
	i->has_last = true;
	i->last_uw = i->total.power_uw = uw;
	i->total.has_power = true;
	i->last_ns = boot_ns;
}
