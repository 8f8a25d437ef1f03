/* SPDX-License-Identifier: MIT */
#include "codec/gzip_member.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "test.h"

static void *packed_of(const char *text, size_t *ret_length)
{
	void *packed = NULL;

	ASSERT_OK(gzip_member_pack(text, strlen(text), GZIP_SMALL, &packed, ret_length));
	return packed;
}

TEST(members_behind_each_other_are_one_text)
{
	size_t first_length, second_length, length = 0;
	_cleanup_free_ void *first = packed_of("one\n", &first_length);
	_cleanup_free_ void *second = packed_of("two\n", &second_length);
	_cleanup_free_ char *both = malloc(first_length + second_length), *text = NULL;

	memcpy(both, first, first_length);
	memcpy(both + first_length, second, second_length);
	ASSERT_OK(gzip_members_unpack(both, first_length + second_length, 100, &text, &length));
	ASSERT_STREQ(text, "one\ntwo\n");
	ASSERT_EQ(length, (size_t)8);
}

TEST(an_empty_text_is_one)
{
	size_t packed_length, length = 17;
	_cleanup_free_ void *packed = packed_of("", &packed_length);
	_cleanup_free_ char *text = NULL;

	ASSERT_OK(gzip_members_unpack(packed, packed_length, 0, &text, &length));
	ASSERT_STREQ(text, "");
	ASSERT_EQ(length, (size_t)0);
}

TEST(a_bound_is_kept_to_the_byte)
{
	_cleanup_free_ char *long_text = malloc(100004), *text = NULL;
	_cleanup_free_ void *packed = NULL;
	size_t packed_length, length;

	memset(long_text, 'x', 100003);
	long_text[100003] = '\0';
	packed = packed_of(long_text, &packed_length);
	ASSERT_ERR(gzip_members_unpack(packed, packed_length, 100002, &text, &length), -EFBIG);
	ASSERT_ERR(gzip_members_unpack(packed, packed_length, 10, &text, &length), -EFBIG);
	ASSERT_OK(gzip_members_unpack(packed, packed_length, 100003, &text, &length));
	ASSERT_STREQ(text, long_text);
}

TEST(what_is_torn_or_none_is_refused)
{
	size_t packed_length, length;
	_cleanup_free_ char *packed = packed_of("what there is", &packed_length), *text = NULL;

	for (size_t i = 0; i < packed_length; i++)
		ASSERT_ERR(gzip_members_unpack(packed, i, 100, &text, &length), -EBADMSG);
	ASSERT_ERR(gzip_members_unpack("{\"a\":1}", 7, 100, &text, &length), -EBADMSG);
	packed[packed_length - 6] ^= 1; /* of the check sum */
	ASSERT_ERR(gzip_members_unpack(packed, packed_length, 100, &text, &length), -EBADMSG);
	ASSERT(!text);
}
