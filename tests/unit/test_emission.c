/* SPDX-License-Identifier: MIT */
#include "energy/emission.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/timestamp.h"
#include "test.h"

#define HEAD "# of nobody\nzone,kind,from,until,grams_per_kwh\n"
#define YEAR(zone, year, next, grams) \
	zone ",average_lifecycle," #year "-01-01T00:00:00Z," #next "-01-01T00:00:00Z," grams "\n"
#define S_2024 UINT64_C(1704067200)
#define NS UINT64_C(1000000000)

static const char *wrong(const char *text)
{
	_cleanup_(emission_factors_clear) struct emission_factors factors = {};
	_cleanup_free_ char *copy = strdup(text);
	static struct error err;

	ASSERT_ERR(emission_factors_parse(copy, "t", &factors, &err), -EINVAL);
	return err.text;
}

static uint64_t milligrams_at(const char *text, const char *zone, enum emission_kind kind,
			      uint64_t when_s)
{
	_cleanup_(emission_factors_clear) struct emission_factors factors = {};
	_cleanup_free_ char *copy = strdup(text);
	const struct emission_factor *found;

	ASSERT_OK(emission_factors_parse(copy, "t", &factors, NULL));
	found = emission_factor_at(&factors, zone, kind, when_s * NS);
	return found ? found->milligrams : UINT64_MAX;
}

TEST(a_joule_emits_what_its_part_of_a_kwh_does)
{
	const struct emission_factor factor = { .milligrams = 385210 };

	ASSERT_EQ(emission_of(UINT64_C(3600000000000), &factor), 385210000); /* 1 kWh: 385.21 g */
	ASSERT_EQ(emission_of(1000000, &factor), 107); /* 1 J: 107.0 ug */
	ASSERT_EQ(emission_of(0, &factor), 0);
	/* a machine of 10 MW for 30 years */
	ASSERT_EQ(emission_of(UINT64_C(9467280000000000000), &factor), UINT64_C(1013025258000000));
}

TEST(a_factor_holds_for_its_zone_its_kind_and_its_time)
{
	const char *text = HEAD YEAR("DEU", 2023, 2024, "380.5") YEAR("DEU", 2024, 2025, "344.1")
		YEAR("FRA", 2024, 2025, "44") "DEU,marginal,2024-01-01T00:00:00Z,"
					      "2025-01-01T00:00:00Z,700\n";

	ASSERT_EQ(milligrams_at(text, "DEU", EMISSION_AVERAGE_LIFECYCLE, S_2024), 344100);
	ASSERT_EQ(milligrams_at(text, "DEU", EMISSION_AVERAGE_LIFECYCLE, S_2024 - 1), 380500);
	ASSERT_EQ(milligrams_at(text, "FRA", EMISSION_AVERAGE_LIFECYCLE, S_2024), 44000);
	ASSERT_EQ(milligrams_at(text, "DEU", EMISSION_MARGINAL, S_2024), 700000);
	ASSERT_EQ(milligrams_at(text, "DEU", EMISSION_AVERAGE_DIRECT, S_2024), UINT64_MAX);
	ASSERT_EQ(milligrams_at(text, "FRA", EMISSION_AVERAGE_LIFECYCLE, S_2024 - 1), UINT64_MAX);
	ASSERT_EQ(milligrams_at(text, "ITA", EMISSION_AVERAGE_LIFECYCLE, S_2024), UINT64_MAX);
}

TEST(the_last_one_holds_on_and_a_correction_behind_it_wins)
{
	const char *text = HEAD YEAR("DEU", 2022, 2023, "1") YEAR("DEU", 2023, 2024, "2");
	const char *corrected = HEAD YEAR("DEU", 2024, 2025, "2") YEAR("DEU", 2024, 2025, "3");

	ASSERT_EQ(milligrams_at(text, "DEU", EMISSION_AVERAGE_LIFECYCLE, S_2024 + 1), 2000);
	ASSERT_EQ(milligrams_at(corrected, "DEU", EMISSION_AVERAGE_LIFECYCLE, S_2024 + 1), 3000);
}

TEST(a_gap_longer_than_the_factor_before_it_is_unknown_and_the_last_factor_holds_on)
{
	const char *text = HEAD YEAR("DEU", 2020, 2021, "1") YEAR("DEU", 2024, 2025, "2");
	const uint64_t year_s = 366 * 86400, end_of_2020_s = S_2024 - 3 * 365 * 86400;

	ASSERT_EQ(milligrams_at(text, "DEU", EMISSION_AVERAGE_LIFECYCLE, end_of_2020_s), 1000);
	ASSERT_EQ(milligrams_at(text, "DEU", EMISSION_AVERAGE_LIFECYCLE, end_of_2020_s + year_s),
		  1000);
	ASSERT_EQ(milligrams_at(text, "DEU", EMISSION_AVERAGE_LIFECYCLE,
				end_of_2020_s + year_s + 1),
		  UINT64_MAX);
	ASSERT_EQ(milligrams_at(text, "DEU", EMISSION_AVERAGE_LIFECYCLE, S_2024 + 20 * year_s),
		  2000);
}

TEST(of_many_in_any_order_the_one_that_holds_is_found_and_a_source_is_no_factor)
{
	struct emission_factors factors = {};
	char text[8192] = "zone,kind,from,until,grams_per_kwh,source\n";
	struct error err;

	for (int i = 0; i < 60; i++) { /* 7 and 60 have no common factor: each minute once */
		const int minute = i * 7 % 60;

		snprintf(
			text + strlen(text), sizeof(text) - strlen(text),
			"XXA,average_direct,2026-02-03T04:%02d:00Z,2026-02-03T04:%02d:30Z,%d,made\n",
			minute, minute, 100 + minute);
	}
	ASSERT_OK(emission_factors_parse(text, "made", &factors, &err));
	for (uint64_t minute = 0; minute < 60; minute++) {
		const uint64_t at_ns = (UINT64_C(1770091200) + minute * 60) * 1000000000;

		ASSERT_EQ(emission_factor_at(&factors, "XXA", EMISSION_AVERAGE_DIRECT, at_ns)
				  ->milligrams,
			  (100 + minute) * 1000);
		/* in a gap the last one goes on */
		ASSERT_EQ(emission_factor_at(&factors, "XXA", EMISSION_AVERAGE_DIRECT,
					     at_ns + 45000000000)
				  ->milligrams,
			  (100 + minute) * 1000);
	}
	ASSERT(!emission_factor_at(&factors, "XXA", EMISSION_AVERAGE_DIRECT,
				   UINT64_C(1770091199) * 1000000000));
	ASSERT(!emission_factor_at(&factors, "XXB", EMISSION_AVERAGE_DIRECT,
				   UINT64_C(1770091500) * 1000000000));
	ASSERT(!emission_factor_at(&factors, "XXA", EMISSION_MARGINAL,
				   UINT64_C(1770091500) * 1000000000));
	emission_factors_clear(&factors);
}

/* As emission.h says it, row by row from the last one that has begun. */
static const struct emission_factor *walk_to(const struct emission_factors *factors,
					     const char *zone, uint64_t when_ns)
{
	const struct emission_factor *last = NULL, *ended = NULL;
	bool has_next = false;

	for (size_t i = factors->count; i-- > 0;) {
		const struct emission_factor *f = &factors->items[i];

		if (strcmp(f->zone, zone) != 0)
			continue;
		if (f->from_ns > when_ns) {
			has_next = true;
			continue;
		}
		if (when_ns < f->until_ns)
			return f;
		last = last ? last : f;
		ended = !ended || f->until_ns > ended->until_ns ? f : ended;
	}
	if (!has_next || !ended)
		return last;
	return when_ns - ended->until_ns <= ended->until_ns - ended->from_ns ? ended : NULL;
}

TEST(of_factors_within_others_the_one_is_found_that_a_walk_over_all_finds)
{
	_cleanup_(emission_factors_clear) struct emission_factors added = {}, parsed = {};
	char text[32768] = "zone,kind,from,until,grams_per_kwh\n";
	static const char *const zones[] = { "XXA", "XXB" };
	const uint64_t start_ns = UINT64_C(1770091200) * NS;
	uint32_t random = 1;

	for (size_t i = 0; i < 211; i++) {
		struct emission_factor one = { .milligrams = 1000 * i };
		char from[TIMESTAMP_SIZE], until[TIMESTAMP_SIZE];

		random = random * 1664525 + 1013904223;
		snprintf(one.zone, sizeof(one.zone), "%s", zones[random >> 31]);
		one.from_ns = start_ns + (random >> 8) % 997 * NS;
		one.until_ns = one.from_ns + (1 + (random >> 20) % (i % 7 ? 5 : 199)) * NS;
		ASSERT_OK(emission_factors_add(&added, &one));
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%s,average_lifecycle,%s,%s,%zu\n", one.zone,
			 timestamp_format(from, one.from_ns), timestamp_format(until, one.until_ns),
			 i);
	}
	ASSERT_OK(emission_factors_parse(text, "made", &parsed, NULL));
	ASSERT_EQ(parsed.count, added.count);
	for (size_t i = 0; i < added.count; i++)
		ASSERT_EQ(parsed.items[i].back, added.items[i].back);
	for (uint64_t s = 0; s < 1500; s++) {
		for (size_t z = 0; z < ARRAY_SIZE(zones); z++) {
			const uint64_t at_ns = start_ns - NS + s * NS;

			ASSERT(emission_factor_at(&added, zones[z], EMISSION_AVERAGE_LIFECYCLE,
						  at_ns) == walk_to(&added, zones[z], at_ns));
		}
	}
}

TEST(what_is_wrong_in_a_table_is_named_with_its_line)
{
	ASSERT_STREQ(wrong("zone,grams\n"),
		     "t:1: the head is not zone,kind,from,until,grams_per_kwh");
	ASSERT_STREQ(wrong(HEAD "DEU,average_lifecycle,1\n"),
		     "t:3: it has not the columns zone,kind,from,until,grams_per_kwh");
	ASSERT_STREQ(wrong(HEAD YEAR("", 2023, 2024, "1")),
		     "t:3: the zone is no word of 1 to 31 characters");
	ASSERT_STREQ(wrong(HEAD YEAR("a zone", 2023, 2024, "1")),
		     "t:3: the zone is no word of 1 to 31 characters");
	ASSERT_STREQ(
		wrong(HEAD "DEU,mean,2023-01-01T00:00:00Z,2024-01-01T00:00:00Z,1\n"),
		"t:3: the kind is none of average_lifecycle, average_direct, marginal, forecast and tariff");
	ASSERT_STREQ(wrong(HEAD YEAR("DEU", 2024, 2024, "1")),
		     "t:3: from and until are no times such as 2026-01-01T00:00:00Z, one after the "
		     "other");
	ASSERT_STREQ(wrong(HEAD YEAR("DEU", 2023, 2024, "-1")),
		     "t:3: the grams are no number from 0 to 100000");
	ASSERT_STREQ(wrong(HEAD "DEU,tariff,2023-01-01T00:00:00Z,2024-01-01T00:00:00Z,-0.01\n"),
		     "t:3: the price is no number from 0 to 100000");
	ASSERT_STREQ(wrong(HEAD YEAR("DEU", 2023, 2024, "100001")),
		     "t:3: the grams are no number from 0 to 100000");
}
