/* SPDX-License-Identifier: MIT */
/* Any files as a Cray's counters, and any text as one of them: what is taken is a number in its
 * unit that stands there, and two readings of the same files are the same. */
#include <string.h>

#include "fuzz.h"
#include "made_root.h"
#include "sources/pm_counters.h"

static void check_text(const uint8_t *data, size_t size)
{
	char text[128] = "", digits[24];
	uint64_t joules, watts;

	memcpy(text, data, size < sizeof(text) ? size : sizeof(text) - 1);
	if (pm_counter_parse(text, "J", &joules) < 0)
		return;
	snprintf(digits, sizeof(digits), "%lu", joules);
	CHECK(strncmp(text + strspn(text, "0"), joules ? digits : "", strlen(digits) - !joules) ==
	      0);
	if (pm_counter_parse(text, "W", &watts) == 0) /* it has no unit */
		CHECK(watts == joules && !memchr(text, 'J', strcspn(text, "\n")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_counters first = {}, again = {};
	int r;

	check_text(data, size);
	made_root_fill(made_root_fd(), data, size);
	r = pm_counters_read(made_root_fd(), &first);
	CHECK(r == pm_counters_read(made_root_fd(), &again));
	CHECK(memcmp(&first, &again, sizeof(first)) == 0);
	CHECK(first.known < UINT32_C(1) << PM_COUNTERS_MAX);
	made_root_clear();
	return 0;
}
