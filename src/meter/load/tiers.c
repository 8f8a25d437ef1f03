/* SPDX-License-Identifier: MIT */
#include "load/tiers.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "basic/error.h"
#include "load/hooks.h"
#include "basic/macro.h"

#define OBJECT(name) (1U << OBJECT_##name)

/* clang-format off */
const struct tier meter_tiers[] = {
	{ METER_T0, "T0", "totals of tasks", "waiting for a CPU, and processes that nobody waits for", OBJECT(TASKS), true },
	{ METER_T1, "T1", "time by cause",   "what threads wait for", OBJECT(TIME), false },
	{ METER_T2, "T2", "files by mount",  "files by mount", OBJECT(FILES) | OBJECT(FENTRY) | OBJECT(BLOCK), true },
};
/* clang-format on */
const size_t meter_tier_count = ARRAY_SIZE(meter_tiers);

const struct tier *tier_get(enum meter_tier tier)
{
	for (size_t i = 0; i < ARRAY_SIZE(meter_tiers); i++) {
		if (meter_tiers[i].tier == tier)
			return &meter_tiers[i];
	}
	assert(!"no tier");
	return NULL;
}

static const struct tier *find_named(const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(meter_tiers); i++) {
		if (strlen(meter_tiers[i].name) == length &&
		    strncmp(meter_tiers[i].name, name, length) == 0)
			return &meter_tiers[i];
	}
	return NULL;
}

int tiers_parse(const char *text, unsigned int *ret, struct error *err)
{
	unsigned int found = 0;

	for (const char *name = text; strcmp(text, "none") != 0; name++) {
		size_t length = strcspn(name, ",");
		const struct tier *tier = find_named(name, length);

		if (!tier)
			return error_set(err, -EINVAL,
					 "tiers are 'none' or some of T0,T1,T2, and not '%.40s'",
					 text);
		found |= tier->tier;
		name += length;
		if (!*name)
			break;
	}
	*ret = found;
	return 0;
}
