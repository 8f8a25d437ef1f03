/* SPDX-License-Identifier: MIT */
/*
 * bmc_power - the power of the node, as its BMC says it when it is asked: now and then, since that
 * costs the BMC time, and it knows of a new value each second or two at best.
 *
 * An answer that did not come, or is of no use, is no power: nothing is shown, and why is said.
 * Between two answers the last is shown, as stale.
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

struct bmc_power { /* begins as {}, with its sensor set */
	struct energy_sensor sensor;
	struct energy_integral integral;
	uint64_t asked_ns, answered_ns;
	bool has_asked, has_answer; /* the last question was answered */
	struct error why; /* it was not */
};

/* Is it time to ask?  Then what came of it goes to one of these, with the moment when it came. */
bool bmc_power_begin(struct bmc_power *p, uint64_t boot_ns);
void bmc_power_answer(struct bmc_power *p, uint64_t uw, uint64_t boot_ns);
void bmc_power_refuse(struct bmc_power *p, const struct error *why);

/* Add the reading, if there is any.  -ENOMEM, -ENOSPC. */
int bmc_power_add(const struct bmc_power *p, bool is_new, struct samples *to);
/* Say why there is none.  -ENOMEM, -ENOSPC. */
int bmc_power_describe(const struct bmc_power *p, const char *label, struct strings *missing);
