/* SPDX-License-Identifier: MIT */
#include "basic/humanize.h"

#include <string.h>

#include "basic/macro.h"
#include "test.h"

TEST(bytes_have_binary_units_and_one_decimal_below_100)
{
	ASSERT_STREQ(humanize_bytes(0).text, "0 B");
	ASSERT_STREQ(humanize_bytes(311).text, "311 B");
	ASSERT_STREQ(humanize_bytes(1023).text, "1023 B");
	ASSERT_STREQ(humanize_bytes(1024).text, "1 KiB");
	ASSERT_STREQ(humanize_bytes(4096).text, "4 KiB");
	ASSERT_STREQ(humanize_bytes(8160437862).text, "7.6 GiB");
	ASSERT_STREQ(humanize_bytes(52428800).text, "50 MiB");
	ASSERT_STREQ(humanize_bytes(UINT64_C(1) << 50).text, "1 PiB");
	ASSERT_STREQ(humanize_bytes(UINT64_MAX).text, "16 EiB");
}

TEST(a_rounded_number_takes_the_next_unit_and_never_reads_1024)
{
	ASSERT_STREQ(humanize_bytes(1024 * 1024 - 1).text, "1 MiB");
	ASSERT_STREQ(humanize_count(999999999).text, "1 G");
	ASSERT_STREQ(humanize_duration(999999).text, "1 ms");
	ASSERT_STREQ(humanize_duration(999999999).text, "1 s");
	ASSERT_STREQ(humanize_duration(59999999999).text, "1 m 00 s");
}

TEST(counts_have_commas_below_a_million)
{
	ASSERT_STREQ(humanize_count(0).text, "0");
	ASSERT_STREQ(humanize_count(812).text, "812");
	ASSERT_STREQ(humanize_count(1007).text, "1,007");
	ASSERT_STREQ(humanize_count(999999).text, "999,999");
	ASSERT_STREQ(humanize_count(1900000).text, "1.9 M");
	ASSERT_STREQ(humanize_count(UINT64_MAX).text, "18.4 E");
}

TEST(durations_go_from_nanoseconds_to_days)
{
	ASSERT_STREQ(humanize_duration(0).text, "0 s");
	ASSERT_STREQ(humanize_duration(850).text, "850 ns");
	ASSERT_STREQ(humanize_duration(3100000).text, "3.1 ms");
	ASSERT_STREQ(humanize_duration(50000000).text, "50 ms");
	ASSERT_STREQ(humanize_duration(12400000000).text, "12.4 s");
	ASSERT_STREQ(humanize_duration(134000000000).text, "2 m 14 s");
	ASSERT_STREQ(humanize_duration(3784000000000).text, "1 h 03 m");
	ASSERT_STREQ(humanize_duration(UINT64_C(864000000000000)).text, "10 d 00 h");
}

TEST(cores_and_percents_keep_what_is_small)
{
	ASSERT_STREQ(humanize_cores(2100).text, "2.1");
	ASSERT_STREQ(humanize_cores(4000).text, "4");
	ASSERT_STREQ(humanize_cores(7).text, "0.007");
	ASSERT_STREQ(humanize_cores(149).text, "0.15");
	ASSERT_STREQ(humanize_cores(198).text, "0.2");
	ASSERT_STREQ(humanize_cores(494).text, "0.49");
	ASSERT_STREQ(humanize_cores(496).text, "0.5");
	ASSERT_STREQ(humanize_cores(0).text, "0");
	ASSERT_STREQ(humanize_percent(0.52).text, "52 %");
	ASSERT_STREQ(humanize_percent(0.004).text, "0.4 %");
	ASSERT_STREQ(humanize_percent(0.00001).text, "<0.1 %");
	ASSERT_STREQ(humanize_percent(0).text, "0 %");
	ASSERT_STREQ(humanize_percent(1.5).text, "150 %");
}

TEST(short_forms_take_four_columns_whatever_the_number)
{
	static const struct row {
		uint64_t number;
		const char *bytes, *count;
	} rows[] = {
		{ 0, "0", "0" },
		{ 7, "7", "7" },
		{ 999, "999", "999" },
		{ 1000, "1K", "1k" },
		{ 10189, "10K", "10k" },
		{ 999499, "976K", "999k" },
		{ 999500, "976K", "1M" },
		{ 1048064, "1M", "1M" },
		{ UINT64_C(8160437862), "7.6G", "8.2G" },
		{ UINT64_MAX, "16E", "18E" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ASSERT_STREQ(humanize_bytes_short(rows[i].number).text, rows[i].bytes);
		ASSERT_STREQ(humanize_count_short(rows[i].number).text, rows[i].count);
	}
	for (uint64_t n = 1; n < UINT64_MAX / 3; n = n * 3 + 1) {
		ASSERT(strlen(humanize_bytes_short(n).text) <= 4);
		ASSERT(strlen(humanize_count_short(n).text) <= 4);
	}
}
