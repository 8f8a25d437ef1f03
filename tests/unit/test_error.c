/* SPDX-License-Identifier: MIT */
#include "basic/error.h"

#include <errno.h>
#include <string.h>

#include "test.h"

TEST(a_text_is_set_and_the_code_returned)
{
	struct error err;

	ASSERT_ERR(error_set(&err, -EINVAL, "no such option '%s'", "--x"), -EINVAL);
	ASSERT_STREQ(err.text, "no such option '--x'");
}

TEST(the_systems_words_come_behind_and_the_code_is_negative)
{
	struct error err;

	ASSERT_ERR(error_set_errno(&err, ENOENT, "cannot open '%s'", "x"), -ENOENT);
	ASSERT_STREQ(err.text, "cannot open 'x': No such file or directory");
	ASSERT_ERR(error_set_errno(&err, -ENOENT, "again"), -ENOENT);
	ASSERT_STREQ(err.text, "again: No such file or directory");
}

TEST(a_prefix_goes_before)
{
	struct error err;

	error_set(&err, -EIO, "disk on fire");
	ASSERT_ERR(error_prefix(&err, -EIO, "cannot write '%s'", "x"), -EIO);
	ASSERT_STREQ(err.text, "cannot write 'x': disk on fire");
}

TEST(without_a_place_for_the_text_the_code_is_still_returned)
{
	ASSERT_ERR(error_set(NULL, -EIO, "x"), -EIO);
	ASSERT_ERR(error_set_errno(NULL, EIO, "x"), -EIO);
	ASSERT_ERR(error_prefix(NULL, -EIO, "x"), -EIO);
}

TEST(a_long_text_is_cut)
{
	struct error err;
	char text[2000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	error_set_errno(&err, EIO, "%s", text);
	ASSERT_EQ((int)strlen(err.text), (int)sizeof(err.text) - 1);
	error_prefix(&err, -EIO, "%s", text);
	ASSERT_EQ((int)strlen(err.text), (int)sizeof(err.text) - 1);
}
