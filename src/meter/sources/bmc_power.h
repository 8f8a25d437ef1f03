/* SPDX-License-Identifier: MIT */
/*
 * bmc_power - the node's power from its BMC, read now and then: a question costs the BMC time, and
 * it has a new value every second or two at best.
 *
 * Without a usable answer there is no power, and the reason is reported. Between two answers the
 * last is shown as stale.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/error.h"
#include "energy/sensor_total.h"

struct samples;
struct strings;

#define BMC_PAUSE_NS UINT64_C(5000000000) /* from question to question */
#define BMC_POWER_MAX_UW UINT64_C(1000000000000) /* more than this no node takes */

struct bmc_power {
	struct energy_sensor sensor;
	struct energy_integral integral;
	uint64_t asked_ns, answered_ns;
	bool has_asked, has_answer; /* the last question was answered */
	struct error why; /* it was not */
};

/* Of that source's sensor. */
struct bmc_power bmc_power_begin(const char *source, const char *name, unsigned int rank);

/* Ask the BMC, if it is time to, and add the reading, if there is any.  -ENOMEM, -ENOSPC. */
struct source_state;
int bmc_power_sample(struct bmc_power *p, uint64_t boot_ns,
		     int (*ask)(struct source_state *s, uint64_t now_ns, uint64_t *ret_uw,
				struct error *err),
		     struct source_state *s, struct samples *to);
/* Report why there is none. -ENOMEM, -ENOSPC. */
int bmc_power_describe(const struct bmc_power *p, const char *label, struct strings *missing);
