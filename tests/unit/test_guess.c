/* SPDX-License-Identifier: MIT */
#include "basic/guess.h"

#include "basic/macro.h"
#include "test.h"

static const char *const names[] = { "interval", "listen", "retention", "tls" };

static const char *guess(const char *text)
{
	return guess_nearest(text, names, ARRAY_SIZE(names), sizeof(names[0]));
}

TEST(a_word_with_a_slip_is_guessed)
{
	ASSERT_STREQ(guess("intervall"), "interval");
	ASSERT_STREQ(guess("lisen"), "listen");
	ASSERT_STREQ(guess("tsl"), "tls");
}

TEST(what_is_near_to_nothing_is_not_guessed)
{
	ASSERT(!guess("colour"));
	ASSERT(!guess(""));
	ASSERT(!guess("intervalintervalintervalintervalintervalintervalintervalintervalinterval"));
	ASSERT(!guess_nearest("tls", names, 0, sizeof(names[0])));
}
