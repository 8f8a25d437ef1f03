/* SPDX-License-Identifier: MIT */
#include "energy/idle_power.h"

#include <string.h>

#include "basic/ids.h"
#include "basic/macro.h"

#define LONG_NS UINT64_C(500000000) /* a power of less is mostly the sensor's own steps */
#define IDLE_SHARE 50 /* at most 1/50 of the CPU time is in use */
#define PRIOR_SHARE 5
#define PERCENTILE_SHARE 20

void idle_power_learn(struct idle_power *p, uint64_t uj, uint64_t ns, uint64_t busy_ns,
		      uint64_t cpus)
{
	uint64_t uw;

	if (ns < LONG_NS)
		return;
	uw = (uint64_t)((unsigned __int128)uj * 1000000000 / ns);
	p->least_uw = p->greatest_uw ? MIN(p->least_uw, uw) : uw;
	p->greatest_uw = MAX(p->greatest_uw, uw);
	if ((unsigned __int128)busy_ns * IDLE_SHARE < (unsigned __int128)ns * cpus)
		p->uw[p->count++ % IDLE_POWERS_MAX] = uw;
}

uint64_t idle_power_get(const struct idle_power *p)
{
	const size_t count = (size_t)MIN(p->count, (uint64_t)IDLE_POWERS_MAX);
	uint64_t sorted[IDLE_POWERS_MAX];

	if (!count)
		return MIN(p->greatest_uw / PRIOR_SHARE, p->least_uw);
	memcpy(sorted, p->uw, count * sizeof(*sorted));
	ids_sort(sorted, count);
	return sorted[count / PERCENTILE_SHARE];
}
