/* SPDX-License-Identifier: MIT */
#include "basic/utf8.h"

#include <string.h>

#include "basic/cleanup.h"
#include "test.h"

TEST(characters_of_each_length_are_decoded_and_encoded_alike)
{
	static const char text[] = "aé€😀";
	static const uint32_t wanted[] = { 'a', 0xe9, 0x20ac, 0x1f600, 0 };
	const char *p = text;

	for (int i = 0; i < 5; i++) {
		char buffer[UTF8_MAX];
		const char *before = p;
		uint32_t c = utf8_next(&p);

		ASSERT_EQ(c, wanted[i]);
		if (c == 0)
			break;
		ASSERT_EQ((int)utf8_encode(c, buffer), (int)(p - before));
		ASSERT_EQ(memcmp(buffer, before, (size_t)(p - before)), 0);
	}
	ASSERT_EQ(*p, '\0');
}

TEST(each_byte_of_what_is_invalid_is_one_replacement)
{
	static const struct row {
		const char *broken, *repaired;
	} rows[] = {
		{ "\xff", "\uFFFD" },
		{ "a\x80z", "a\uFFFDz" },
		{ "\xc3", "\uFFFD" }, /* cut off at the end */
		{ "\xe2\x82", "\uFFFD\uFFFD" },
		{ "\xc0\xaf", "\uFFFD\uFFFD" }, /* overlong */
		{ "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD" }, /* a surrogate */
		{ "\xf4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD" }, /* beyond Unicode */
		{ "é", "é" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_free_ char *repaired = utf8_repair(rows[i].broken);

		ASSERT_STREQ(repaired, rows[i].repaired);
	}
}

TEST(columns_are_counted_as_a_terminal_does)
{
	ASSERT_EQ(utf8_columns("abc"), 3);
	ASSERT_EQ(utf8_columns("né"), 2);
	ASSERT_EQ(utf8_columns("ne\xcc\x81"), 2); /* a combining accent */
	ASSERT_EQ(utf8_columns("日本"), 4);
	ASSERT_EQ(utf8_columns("█▌"), 2);
}

TEST(what_could_steer_a_terminal_is_not_printable)
{
	static const uint32_t bad[] = { 0x1b, '\n', '\r', 0x7f, 0x9b, 0x202e, 0x2028, 0x2066 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ASSERT(!utf8_is_printable(bad[i]));
	ASSERT(utf8_is_printable(' '));
	ASSERT(utf8_is_printable(0xe9));
}

TEST(what_is_too_long_loses_its_middle)
{
	static const struct row {
		const char *text;
		size_t columns;
		const char *wanted;
	} rows[] = {
		{ "/scratch", 8, "/scratch" },
		{ "/scratch/project", 8, "/scr…ect" },
		{ "/scratch", 1, "…" },
		{ "日本語日本語", 6, "日…語" },
		{ "", 4, "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_free_ char *text = utf8_shorten(rows[i].text, rows[i].columns);

		ASSERT_STREQ(text, rows[i].wanted);
		ASSERT(utf8_columns(text) <= rows[i].columns);
	}
}
