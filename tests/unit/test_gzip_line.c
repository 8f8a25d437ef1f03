/* SPDX-License-Identifier: MIT */
#include "spool/gzip_line.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "basic/cleanup.h"
#include "test.h"

static const char line[] = "{\"schema\": \"jobmeter.record/1\"}\n";

/* @times members behind each other, less @missing bytes at the end. */
static int put(size_t times, size_t missing)
{
	_cleanup_free_ char *path = NULL, *packed = NULL;
	size_t length = 0;
	int fd;

	ASSERT(asprintf(&path, "%s/member", test_dir()) > 0);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ASSERT(fd >= 0);
	ASSERT_OK(gzip_line_pack(line, strlen(line), (void **)&packed, &length));
	for (size_t i = 0; i < times; i++)
		ASSERT_EQ(write(fd, packed, length), (ssize_t)length);
	ASSERT_OK(ftruncate(fd, (off_t)(times * length - missing)));
	return fd;
}

TEST(what_was_packed_is_a_gzip_stream_and_several_are_one)
{
	_cleanup_close_ int fd = put(3, 0);
	char text[4 * sizeof(line)] = "";
	gzFile file = gzdopen(dup(fd), "rb");

	ASSERT(file && lseek(fd, 0, SEEK_SET) == 0);
	ASSERT_EQ(gzread(file, text, sizeof(text)), (int)(3 * strlen(line)));
	ASSERT(strncmp(text + strlen(line), line, strlen(line)) == 0);
	gzclose(file);
}

TEST(a_member_that_is_cut_or_changed_or_two_is_told)
{
	for (size_t missing = 1; missing < 30; missing++) {
		_cleanup_close_ int fd = put(1, missing);

		ASSERT_ERR(gzip_line_check(fd), -EBADMSG);
	}
	{
		_cleanup_close_ int whole = put(1, 0), two = put(2, 0);

		ASSERT_ERR(gzip_line_check(two), -EBADMSG);
		close(TAKE_FD(whole));
		whole = put(1, 0);
		ASSERT_OK(gzip_line_check(whole));
		ASSERT_EQ(pwrite(whole, "x", 1, 14), 1);
		ASSERT_ERR(gzip_line_check(whole), -EBADMSG);
	}
	{
		_cleanup_close_ int empty = put(0, 0);

		ASSERT_ERR(gzip_line_check(empty), -EBADMSG);
	}
}
