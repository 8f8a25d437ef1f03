/* SPDX-License-Identifier: MIT */
#include "basic/error.h"

#include <errno.h>
#include <string.h>

#include "test.h"

TEST(the_code_is_negative_whatever_sign_it_comes_with)
{
	struct error err;

	ASSERT_ERR(error_set_errno(&err, -ENOENT, "again"), -ENOENT);
	ASSERT_STREQ(err.text, "again: No such file or directory");
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
