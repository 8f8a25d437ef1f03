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
	{ METER_T0, "T0", "totals", "CPU, faults and bytes", "waiting for a CPU, and processes that no parent waited for", OBJECT(TASKS), true },
	{ METER_T1, "T1", "wait_times", "what threads wait for", "what threads wait for", OBJECT(TIME), false },
	{ METER_T2, "T2", "files", "files by mount", "files by mount", OBJECT(FILES) | OBJECT(FENTRY) | OBJECT(BLOCK), true },
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

const char *tier_words(const char *name)
{
	static const struct {
		const char *name, *words;
	} parts[] = {
		{ "T0", "totals" },
		{ "T1", "wait times" },
		{ "T2", "files" },
		{ "T2+", "more on files" },
		{ "T3", "system calls" },
		{ "T3 (files)", "single files" },
		{ "T3 (syscalls)", "system calls" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (strcmp(parts[i].name, name) == 0)
			return parts[i].words;
	}
	return name;
}

static bool is_called(const char *name, const char *text, size_t length)
{
	return strlen(name) == length && strncmp(name, text, length) == 0;
}

static const struct tier *find_named(const char *name, size_t length)
{
	for (size_t i = 0; i < ARRAY_SIZE(meter_tiers); i++) {
		if (is_called(meter_tiers[i].word, name, length) ||
		    is_called(meter_tiers[i].name, name, length))
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
			return error_set(
				err, -EINVAL,
				"tiers are 'none' or some of totals,wait_times,files, not '%.40s'",
				text);
		found |= tier->tier;
		name += length;
		if (!*name)
			break;
	}
	*ret = found;
	return 0;
}
