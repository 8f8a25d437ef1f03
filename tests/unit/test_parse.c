/* SPDX-License-Identifier: MIT */
#include "basic/parse.h"

#include <errno.h>

#include "test.h"

TEST(a_number_is_the_whole_text)
{
	uint64_t number = 42;

	ASSERT_OK(parse_u64("18446744073709551615", &number));
	ASSERT_EQ(number, UINT64_MAX);
	ASSERT_OK(parse_u64("007", &number));
	ASSERT_EQ(number, 7);
	ASSERT_ERR(parse_u64("18446744073709551616", &number), -ERANGE);
	ASSERT_ERR(parse_u64("", &number), -EINVAL);
	ASSERT_ERR(parse_u64("-1", &number), -EINVAL);
	ASSERT_ERR(parse_u64(" 1", &number), -EINVAL);
	ASSERT_ERR(parse_u64("1 ", &number), -EINVAL);
	ASSERT_ERR(parse_u64("0x10", &number), -EINVAL);
	ASSERT_EQ(number, 7);
}

TEST(an_int_lies_within_its_bounds)
{
	int number = 42;

	ASSERT_OK(parse_int("-5", -5, 5, &number));
	ASSERT_EQ(number, -5);
	ASSERT_ERR(parse_int("-6", -5, 5, &number), -ERANGE);
	ASSERT_ERR(parse_int("4294967296", -5, 5, &number), -ERANGE);
	ASSERT_ERR(parse_int("--5", -5, 5, &number), -EINVAL);
	ASSERT_ERR(parse_int("-", -5, 5, &number), -EINVAL);
	ASSERT_EQ(number, -5);
}

TEST(a_leading_number_moves_the_text_on)
{
	const char *text = "12ab";
	uint64_t number;

	ASSERT_OK(parse_leading_u64(&text, &number));
	ASSERT_EQ(number, 12);
	ASSERT_STREQ(text, "ab");
	ASSERT_ERR(parse_leading_u64(&text, &number), -EINVAL);
	ASSERT_STREQ(text, "ab");
}

TEST(a_key_is_a_whole_word_at_the_start_of_a_line)
{
	const char *text = "user_usec_x 1\nxuser_usec 2\nuser_usec 3\nnr 4";
	uint64_t number;

	ASSERT_OK(parse_keyed_u64(text, "user_usec", 0, &number));
	ASSERT_EQ(number, 3);
	ASSERT_OK(parse_keyed_u64(text, "nr", 0, &number));
	ASSERT_EQ(number, 4);
	ASSERT_ERR(parse_keyed_u64(text, "usec", 0, &number), -ENOENT);
	ASSERT_ERR(parse_keyed_u64("", "usec", 0, &number), -ENOENT);
	ASSERT_OK(parse_keyed_u64("VmPeak:\t  123 kB\n", "VmPeak", ':', &number));
	ASSERT_EQ(number, 123);
	ASSERT_ERR(parse_keyed_u64("VmPeak:\n", "VmPeak", ':', &number), -EINVAL);
	ASSERT_ERR(parse_keyed_u64("VmPeak: 123kB\n", "VmPeak", ':', &number), -EINVAL);
}

TEST(lines_and_words_are_cut_off_in_place)
{
	char text[] = "one  two\n\nthree", *rest = text, *line;

	line = parse_next_line(&rest);
	ASSERT_STREQ(parse_next_word(&line), "one");
	ASSERT_STREQ(parse_next_word(&line), "two");
	ASSERT(parse_next_word(&line) == NULL);
	ASSERT_STREQ(parse_next_line(&rest), "");
	ASSERT_STREQ(parse_next_line(&rest), "three");
	ASSERT(parse_next_line(&rest) == NULL);
}

TEST(a_word_is_found_whole_or_not_at_all)
{
	ASSERT(parse_has_word("cpuset cpu io\n", "cpu"));
	ASSERT(parse_has_word("cpu", "cpu"));
	ASSERT(!parse_has_word("cpuset io\n", "cpu"));
	ASSERT(!parse_has_word(" \n", "cpu"));
	ASSERT(!parse_has_word("cpu", ""));
	ASSERT(!parse_has_word("", "cpu"));
}

TEST(seconds_have_at_most_nine_digits_behind_the_point)
{
	static const struct row {
		const char *text;
		int r;
		uint64_t ns;
	} rows[] = {
		{ "10", 0, 10000000000 },
		{ "0.25", 0, 250000000 },
		{ "0", 0, 0 },
		{ "1.000000001", 0, 1000000001 },
		{ "18446744073", 0, 18446744073000000000u },
		{ "1.0000000001", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ ".5", -EINVAL, 0 },
		{ "5.", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "1s", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "inf", -EINVAL, 0 },
		{ "18446744074", -ERANGE, 0 },
		{ "99999999999999999999", -ERANGE, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t ns = 0;

		ASSERT_ERR(parse_seconds(rows[i].text, &ns), rows[i].r);
		ASSERT_EQ(ns, rows[i].ns);
	}
}

TEST(a_number_behind_a_label_in_the_line_of_its_key)
{
	const char *text =
		"some avg10=0.00 avg60=1.50 avg300=0.00 total=12345\nfull avg10=0.00 total=67 x=8";
	uint64_t number = 1;

	ASSERT_OK(parse_labelled_u64(text, "some", "total", &number));
	ASSERT_EQ(number, 12345u);
	ASSERT_OK(parse_labelled_u64(text, "full", "total", &number));
	ASSERT_EQ(number, 67u);
	ASSERT_OK(parse_labelled_u64(text, "full", "x", &number));
	ASSERT_EQ(number, 8u);
	ASSERT_ERR(parse_labelled_u64(text, "some", "x", &number), -ENOENT); /* it is in another
										line */
	ASSERT_ERR(parse_labelled_u64(text, "so", "total", &number), -ENOENT);
	ASSERT_ERR(parse_labelled_u64(text, "some", "tota", &number), -ENOENT);
	ASSERT_ERR(parse_labelled_u64(text, "some", "avg60", &number), -EINVAL);
	ASSERT_ERR(parse_labelled_u64("some total=", "some", "total", &number), -EINVAL);
	ASSERT_ERR(parse_labelled_u64("some total=99999999999999999999", "some", "total", &number),
		   -ERANGE);
	ASSERT_ERR(parse_labelled_u64("some", "some", "total", &number), -ENOENT);
	ASSERT_ERR(parse_labelled_u64("\n\nsome", "some", "total", &number), -ENOENT);
	ASSERT_ERR(parse_labelled_u64("", "some", "total", &number), -ENOENT);
	ASSERT_EQ(number, 8u);
}
