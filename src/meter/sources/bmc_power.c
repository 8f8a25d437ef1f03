/* SPDX-License-Identifier: MIT */
#include "sources/bmc_power.h"

#include <stdio.h>

#include "basic/clock.h"
#include "model/record.h"
#include "model/sample.h"

struct bmc_power bmc_power_begin(const char *source, const char *name, unsigned int rank)
{
	struct bmc_power p = { .sensor = { .source = source,
					   .level = ENERGY_NODE,
					   .part = ENERGY_ALL,
					   .socket = ENERGY_SOCKET_ANY,
					   .quality = ENERGY_MEASURED,
					   .rank = rank } };

	snprintf(p.sensor.name, sizeof(p.sensor.name), "%s", name);
	return p;
}

int bmc_power_sample(struct bmc_power *p, uint64_t boot_ns,
		     int (*ask)(struct source_state *s, uint64_t now_ns, uint64_t *ret_uw,
				struct error *err),
		     struct source_state *s, struct samples *to)
{
	const bool is_due = !p->has_asked || boot_ns - p->asked_ns >= BMC_PAUSE_NS;
	struct energy_reading reading = { .sensor = p->sensor, .is_stale = !is_due };
	struct error why = {};
	uint64_t uw = 0;

	if (is_due) {
		p->has_asked = true;
		p->asked_ns = boot_ns;
		p->has_answer = ask(s, boot_ns, &uw, &why) >= 0;
		if (p->has_answer && (!uw || uw > BMC_POWER_MAX_UW)) { /* of a node that runs */
			p->has_answer = false;
			error_set(&why, 0, "it says that the node takes %s",
				  uw ? "more than a megawatt" : "no power");
		}
		if (p->has_answer) {
			p->answered_ns = clock_now_ns(CLOCK_BOOTTIME);
			energy_integral_take(&p->integral, uw, p->answered_ns);
		} else {
			p->why = why;
		}
	}
	reading.total = p->integral.total;
	reading.boot_ns = p->answered_ns;
	return p->has_answer ? samples_add_energy(to, &reading) : 0;
}

int bmc_power_describe(const struct bmc_power *p, const char *label, struct strings *missing)
{
	return p->has_asked && !p->has_answer ? strings_add(missing, "%s%s", label, p->why.text)
					      : 0;
}
