/* SPDX-License-Identifier: MIT */
#include "service/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/dir.h"
#include "test.h"
#include "tree.h"

static const char *path_of(const char *dir, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s/%s", test_dir(), dir, name);
	return path;
}

TEST(the_first_start_makes_it_and_the_next_finds_it)
{
	_cleanup_close_ int root = tree_open("new"), other = tree_open("other");
	char first[TOKEN_SIZE], second[TOKEN_SIZE], third[TOKEN_SIZE];
	struct dir files;
	struct stat st;
	struct error err;

	ASSERT_OK(token_get(path_of("new", "t"), getegid(), first, &err));
	ASSERT_EQ(strlen(first), (size_t)64);
	ASSERT_EQ(strspn(first, "0123456789abcdef"), (size_t)64);
	ASSERT_OK(token_get(path_of("new", "t"), getegid(), second, &err));
	ASSERT_STREQ(first, second);
	ASSERT_OK(token_get(path_of("other", "t"), getegid(), third, &err));
	ASSERT(other >= 0 && strcmp(first, third) != 0);
	ASSERT_OK(fstatat(root, "t", &st, 0));
	ASSERT_EQ(st.st_mode & 07777, 0640U);
	ASSERT_EQ(st.st_size, 65);
	ASSERT_OK(dir_read(root, ".", 10, &files)); /* nothing else is left */
	ASSERT_EQ(files.count, (size_t)1);
	dir_clear(&files);
}

static void refuse(const char *text, mode_t mode, int error, const char *words)
{
	static int count;
	char dir[32], token[TOKEN_SIZE] = "before";
	_cleanup_close_ int root = -EBADF;
	struct error err;

	snprintf(dir, sizeof(dir), "refused-%d", count++);
	root = tree_open(dir);
	tree_write(root, "t", text);
	ASSERT_OK(fchmodat(root, "t", mode, 0));
	ASSERT_ERR(token_get(path_of(dir, "t"), getegid(), token, &err), error);
	ASSERT_CONTAINS(err.text, words);
	ASSERT_STREQ(token, "before");
}

TEST(one_that_others_can_read_or_is_none_is_refused)
{
	char long_text[400];

	memset(long_text, 'x', sizeof(long_text));
	long_text[399] = '\0';
	refuse("0123456789abcdef\n", 0644, -EPERM,
	       "has mode 0644: others can read or write it (chmod 0640)");
	refuse("0123456789abcdef\n", 0660, -EPERM, "has mode 0660");
	refuse("0123456789abcde\n", 0600, -EINVAL, "has 15 letters; it must have 16 at least");
	refuse("", 0600, -EINVAL, "has 0 letters");
	refuse("0123456789abcdef\n\n", 0600, -EINVAL, "more than one line");
	refuse("0123456789 abcdef\n", 0600, -EINVAL, "other than plain letters");
	refuse("0123456789abcdef\xc3\xa9\n", 0600, -EINVAL, "other than plain letters");
	refuse(long_text, 0600, -EINVAL, "longer than");
}

TEST(one_that_the_site_made_is_taken)
{
	_cleanup_close_ int root = tree_open("made");
	char token[TOKEN_SIZE];
	struct error err;

	tree_write(root, "t", "Correct-Horse=Battery/Staple");
	ASSERT_OK(fchmodat(root, "t", 0400, 0));
	ASSERT_OK(token_get(path_of("made", "t"), getegid(), token, &err));
	ASSERT_STREQ(token, "Correct-Horse=Battery/Staple");
}

TEST(a_link_and_what_is_no_file_are_refused)
{
	_cleanup_close_ int root = tree_open("links");
	char token[TOKEN_SIZE];
	struct error err;

	tree_write(root, "real", "0123456789abcdef");
	tree_link(root, "t", "real");
	ASSERT_ERR(token_get(path_of("links", "t"), getegid(), token, &err), -ELOOP);
	ASSERT_OK(mkfifoat(root, "pipe", 0600));
	ASSERT_ERR(token_get(path_of("links", "pipe"), getegid(), token, &err), -EINVAL);
	ASSERT_ERR(token_get(path_of("nowhere", "t"), getegid(), token, &err), -ENOENT);
	ASSERT_CONTAINS(err.text, "cannot make the token '");
}

TEST(one_that_is_only_shown_to_another_is_read_whoever_owns_it_and_never_made)
{
	_cleanup_close_ int root = tree_open("others");
	char token[TOKEN_SIZE];
	struct error err;

	ASSERT_ERR(token_read(path_of("others", "t"), token, &err), -ENOENT);
	ASSERT(faccessat(root, "t", F_OK, 0) < 0);
	tree_write(root, "t", "0123456789abcdef\n");
	ASSERT_OK(fchmodat(root, "t", 0640, 0));
	if (geteuid() == 0)
		ASSERT_OK(fchownat(root, "t", 12345, 12345, 0));
	ASSERT_OK(token_read(path_of("others", "t"), token, &err));
	ASSERT_STREQ(token, "0123456789abcdef");
	ASSERT_OK(fchmodat(root, "t", 0644, 0));
	ASSERT_ERR(token_read(path_of("others", "t"), token, &err), -EPERM);
}
