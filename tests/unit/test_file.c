/* SPDX-License-Identifier: MIT */
#include "basic/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "test.h"

static int folder(void)
{
	return open(test_dir(), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Make a file of @size bytes, the text and then a fill. */
static void make(int dir_fd, const char *name, const char *text, size_t size)
{
	_cleanup_close_ int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
					0600);
	size_t length = strlen(text);

	ASSERT_EQ(write(fd, text, length), (ssize_t)length);
	for (; length < size; length++)
		ASSERT_EQ(write(fd, "x", 1), 1);
}

TEST(a_file_is_read_whole_up_to_the_bound)
{
	_cleanup_close_ int dir = folder();
	static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 12345 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		_cleanup_free_ char *text = NULL, *none = NULL;
		size_t length = 42;

		make(dir, "whole", "", sizes[i]);
		ASSERT_OK(file_read(dir, "whole", sizes[i], &text, &length));
		ASSERT_EQ(length, sizes[i]);
		ASSERT_EQ(text[length], '\0');
		if (sizes[i] == 0)
			continue;
		ASSERT_ERR(file_read(dir, "whole", sizes[i] - 1, &none, NULL), -EFBIG);
		ASSERT(none == NULL);
	}
}

TEST(a_file_that_is_not_there_is_an_error)
{
	_cleanup_close_ int dir = folder();
	char *text = NULL, small[16];
	uint64_t number;

	ASSERT_ERR(file_read(dir, "absent", 100, &text, NULL), -ENOENT);
	ASSERT_ERR(file_read_small(dir, "absent", small, sizeof(small)), -ENOENT);
	ASSERT_ERR(file_read_u64(dir, "absent", &number), -ENOENT);
	ASSERT_ERR(file_write_existing(dir, "absent", "1"), -ENOENT);
}

TEST(a_small_file_has_to_fit_with_its_nul)
{
	_cleanup_close_ int dir = folder();
	char buffer[8];

	make(dir, "small", "1234567", 0);
	ASSERT_EQ(file_read_small(dir, "small", buffer, sizeof(buffer)), 7);
	ASSERT_STREQ(buffer, "1234567");
	make(dir, "small", "12345678", 0);
	ASSERT_ERR(file_read_small(dir, "small", buffer, sizeof(buffer)), -EFBIG);
	ASSERT_STREQ(buffer, "");
	strcpy(buffer, "before");
	ASSERT_ERR(file_read_small(dir, "nothing", buffer, sizeof(buffer)), -ENOENT);
	ASSERT_STREQ(buffer, "");
}

TEST(one_number_is_read_and_max_is_no_number)
{
	_cleanup_close_ int dir = folder();
	uint64_t number = 42;

	make(dir, "number", "17\n", 0);
	ASSERT_OK(file_read_u64(dir, "number", &number));
	ASSERT_EQ(number, 17);
	make(dir, "number", "max\n", 0);
	ASSERT_ERR(file_read_u64(dir, "number", &number), -ENODATA);
	make(dir, "number", "17 18\n", 0);
	ASSERT_ERR(file_read_u64(dir, "number", &number), -EINVAL);
	make(dir, "number", "", 0);
	ASSERT_ERR(file_read_u64(dir, "number", &number), -EINVAL);
	ASSERT_EQ(number, 17);
}

TEST(an_existing_file_is_written)
{
	_cleanup_close_ int dir = folder();
	uint64_t number;

	make(dir, "write", "", 0);
	ASSERT_OK(file_write_existing(dir, "write", "23"));
	ASSERT_OK(file_read_u64(dir, "write", &number));
	ASSERT_EQ(number, 23);
}

TEST(directories_are_made_with_those_above)
{
	const char *path = test_path("a/b/c");
	struct stat st;

	ASSERT_OK(file_make_dirs(path, 0700));
	ASSERT_OK(file_make_dirs(path, 0700));
	ASSERT_OK(stat(path, &st));
	ASSERT_EQ(st.st_mode & 0777, 0700U);
}
