/* SPDX-License-Identifier: MIT */
#include "cli/moment.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "basic/timestamp.h"
#include "test.h"

#define NOW UINT64_C(1795456800123456789) /* 2026-11-23T18:00:00.123456789Z */

TEST(a_time_is_before_now_or_of_the_calendar)
{
	static const struct row {
		const char *text, *moment;
	} rows[] = {
		{ "now", "2026-11-23T18:00:00.123456789Z" },
		{ "7d", "2026-11-16T18:00:00.123456789Z" },
		{ "now-36h", "2026-11-22T06:00:00.123456789Z" },
		{ "90m", "2026-11-23T16:30:00.123456789Z" },
		{ "1w", "2026-11-16T18:00:00.123456789Z" },
		{ "0s", "2026-11-23T18:00:00.123456789Z" },
		{ "today", "2026-11-22T23:00:00Z" },
		{ "2026-11-20", "2026-11-19T23:00:00Z" },
		{ "2026-11-20 14:30", "2026-11-20T13:30:00Z" },
		{ "2026-11-20T14:30:05", "2026-11-20T13:30:05Z" },
		{ "2026-07-01T00:00", "2026-06-30T22:00:00Z" }, /* summer */
		{ "2026-11-20T14:30:05Z", "2026-11-20T14:30:05Z" },
		{ "2026-11-20T14:30:05.5Z", "2026-11-20T14:30:05.500000000Z" },
		{ "100000w", "1970-01-01T00:00:00.000000001Z" },
	};

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ns = 0, wanted = 0;

		ASSERT_OK(timestamp_parse(rows[i].moment, &wanted));
		ASSERT_OK(moment_parse(rows[i].text, NOW, &ns, NULL));
		ASSERT_EQ(ns, wanted);
	}
}

TEST(what_is_no_time_is_told)
{
	static const char *const texts[] = {
		"",    "yesterday",  "7",	   "7x",	  "-7d",	  "d",
		"7dd", "2026-02-30", "2026-13-01", "2026-11-20x", "99999999999d", "now-"
	};
	uint64_t ns = 7;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		ASSERT_ERR(moment_parse(texts[i], NOW, &ns, &err), -EINVAL);
		ASSERT_CONTAINS(err.text, "is no time: that is 7d, 36h, 2026-11-20");
		ASSERT_EQ(ns, (uint64_t)7);
	}
}
