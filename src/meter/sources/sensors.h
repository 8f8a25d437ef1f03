/* SPDX-License-Identifier: MIT */
/* sensors - which sources of energy figures this node shows.  Listed only; nothing is measured
 * here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct sensor {
	const char *source; /* "powercap", "hwmon", "ipmi", "pm_counters" */
	char name[64]; /* as the node names it: "package-0", "power_meter power1" */
	char path[128]; /* below the root */
	bool is_readable; /* by us */
};

#define SENSORS_MAX 256

struct sensors {
	struct sensor *items; /* owned */
	size_t count; /* at most SENSORS_MAX */
};

/* What is not there is no error.  -ENOMEM. */
int sensors_read(int root_fd, struct sensors *ret);
void sensors_clear(struct sensors *s);
