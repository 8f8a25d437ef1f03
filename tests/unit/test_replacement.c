/* SPDX-License-Identifier: MIT */
#include "basic/replacement.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "test.h"

static void write_all(const char *path, const char *text)
{
	struct replacement file = {};
	struct error err;

	ASSERT_OK(replacement_open(path, 0640, &file, &err));
	fputs(text, file.stream);
	ASSERT_OK(replacement_commit(&file, &err));
}

static char *read_all(const char *path)
{
	char *text = NULL;

	ASSERT_OK(file_read(AT_FDCWD, path, 1000, &text, NULL));
	return text;
}

static int count_files(void)
{
	DIR *dir = opendir(test_dir());
	int count = 0;

	for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir))
		count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
	closedir(dir);
	return count;
}

TEST(the_old_file_stands_until_the_new_one_is_whole)
{
	struct replacement file = {};
	struct error err;
	int files;

	write_all(test_path("a"), "old");
	files = count_files();
	ASSERT_OK(replacement_open(test_path("a"), 0640, &file, &err));
	fputs("new", file.stream);
	fflush(file.stream);
	ASSERT_TEXT(read_all(test_path("a")), "old");
	ASSERT_OK(replacement_commit(&file, &err));
	ASSERT_TEXT(read_all(test_path("a")), "new");
	ASSERT_EQ(count_files(), files);
}

TEST(what_must_be_new_takes_no_place_and_is_whole_when_it_is_seen)
{
	struct replacement first = {}, second = {};
	int files = count_files();
	struct error err;

	ASSERT_OK(replacement_open(test_path("new"), 0600, &first, &err));
	ASSERT_OK(replacement_open(test_path("new"), 0600, &second, &err));
	first.must_be_new = second.must_be_new = true;
	fputs("first", first.stream);
	fputs("second", second.stream);
	ASSERT(access(test_path("new"), F_OK) < 0);
	ASSERT_OK(replacement_commit(&first, &err));
	ASSERT_ERR(replacement_commit(&second, &err), -EEXIST);
	ASSERT_TEXT(read_all(test_path("new")), "first");
	ASSERT_EQ(count_files(), files + 1);
}

TEST(what_is_given_up_leaves_nothing)
{
	struct replacement file = {};
	struct error err;
	int files = count_files();

	ASSERT_OK(replacement_open(test_path("b"), 0640, &file, &err));
	fputs("new", file.stream);
	replacement_abandon(&file);
	replacement_abandon(&file);
	ASSERT_EQ(count_files(), files);
}

TEST(the_mode_is_kept_to_and_links_are_followed)
{
	struct stat st;
	char target[256];

	strcpy(target, test_path("target"));
	write_all(target, "1");
	ASSERT_OK(stat(target, &st));
	ASSERT_EQ(st.st_mode & 0777, 0640U);
	ASSERT_OK(symlink(target, test_path("link")));
	write_all(test_path("link"), "2");
	ASSERT_OK(lstat(test_path("link"), &st));
	ASSERT(S_ISLNK(st.st_mode));
	ASSERT_OK(stat(target, &st));
	ASSERT_EQ(st.st_size, 1);
}

TEST(what_can_not_be_written_is_said_at_once)
{
	struct replacement file = {};
	struct error err;

	ASSERT_ERR(replacement_open("/nonexistent/x", 0640, &file, &err), -ENOENT);
	ASSERT_STREQ(err.text, "cannot write '/nonexistent/x': No such file or directory");
	ASSERT_ERR(replacement_check(test_dir(), &err), -EISDIR);
	ASSERT_ERR(replacement_check(test_path("a/b"), &err), -ENOTDIR);
	ASSERT_OK(replacement_check("/dev/null", &err));
	ASSERT_OK(replacement_check(test_path("new"), &err));
}

TEST(a_full_device_is_an_error_at_the_end)
{
	struct replacement file = {};
	struct error err;

	ASSERT_OK(replacement_open("/dev/full", 0640, &file, &err));
	fputs("x", file.stream);
	ASSERT_ERR(replacement_commit(&file, &err), -ENOSPC);
	ASSERT_STREQ(err.text, "cannot write '/dev/full': No space left on device");
	ASSERT(file.stream == NULL);
}
