/* SPDX-License-Identifier: MIT */
#include "basic/timestamp.h"

#include <errno.h>

#include "test.h"

TEST(a_moment_is_written_to_the_nanosecond_and_comes_back)
{
	static const uint64_t task_states[] = { 0, 1, 1770091506123456789, 951782400000000000 };
	char text[TIMESTAMP_SIZE];
	uint64_t back;

	ASSERT_STREQ(timestamp_format(text, task_states[2]), "2026-02-03T04:05:06.123456789Z");
	for (int i = 0; i < 4; i++) {
		ASSERT_OK(timestamp_parse(timestamp_format(text, task_states[i]), &back));
		ASSERT_EQ(back, task_states[i]);
	}
}

TEST(a_shorter_fraction_or_none_is_read_too)
{
	uint64_t ns;

	ASSERT_OK(timestamp_parse("1970-01-01T00:00:01Z", &ns));
	ASSERT_EQ(ns, 1000000000);
	ASSERT_OK(timestamp_parse("1970-01-01T00:00:01.25Z", &ns));
	ASSERT_EQ(ns, 1250000000);
}

TEST(what_is_no_moment_is_refused)
{
	static const char *const broken[] = {
		"",
		"2026",
		"2026-02-03",
		"2026-02-03T04:05:06",
		"2026-02-03 04:05:06Z",
		"2026-02-30T04:05:06Z",
		"2026-13-03T04:05:06Z",
		"2026-02-03T24:05:06Z",
		"2026-02-03T04:05:06+01:00",
		"2026-02-03T04:05:06.1234567890Z",
		"2026-02-03T04:05:06ZZ",
		"1969-12-31T23:59:59Z",
		"9999-12-31T23:59:59Z",
	};
	uint64_t ns = 42;

	for (unsigned int i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		ASSERT_ERR(timestamp_parse(broken[i], &ns), -EINVAL);
	ASSERT_EQ(ns, 42);
}
