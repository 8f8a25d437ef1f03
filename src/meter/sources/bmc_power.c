/* SPDX-License-Identifier: MIT */
#include "sources/bmc_power.h"

#include <errno.h>

#include "model/record.h"
#include "model/sample.h"

bool bmc_power_begin(struct bmc_power *p, uint64_t boot_ns)
{
	if (p->has_asked && boot_ns - p->asked_ns < BMC_PAUSE_NS)
		return false;
	p->has_asked = true;
	p->asked_ns = boot_ns;
	return true;
}

void bmc_power_answer(struct bmc_power *p, uint64_t uw, uint64_t boot_ns)
{
	if (!uw || uw > BMC_POWER_MAX_UW) { /* of a node that runs */
		error_set(&p->why, 0, "it says that the node takes %s",
			  uw ? "more than a megawatt" : "no power");
		p->has_answer = false;
		return;
	}
	energy_integral_take(&p->integral, uw, boot_ns);
	p->answered_ns = boot_ns;
	p->has_answer = true;
}

void bmc_power_refuse(struct bmc_power *p, const struct error *why)
{
	p->why = *why;
	p->has_answer = false;
}

int bmc_power_add(const struct bmc_power *p, bool is_new, struct samples *to)
{
	const struct energy_reading reading = {
		.sensor = p->sensor,
		.total = p->integral.total,
		.boot_ns = p->answered_ns,
		.is_stale = !is_new,
	};

	return p->has_answer ? samples_add_energy(to, &reading) : 0;
}

int bmc_power_describe(const struct bmc_power *p, const char *label, struct strings *missing)
{
	return p->has_asked && !p->has_answer ? strings_add(missing, "%s%s", label, p->why.text)
					      : 0;
}
