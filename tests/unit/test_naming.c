/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "cgroup/mounts.h"
#include "counters/naming.h"
#include "basic/cleanup.h"
#include "test.h"

#define DEVICE(minor) ((uint32_t)(minor))
#define OWN true
#define OTHER false

static struct superblock seen_at(size_t count, const char *const *names)
{
	struct superblock sb = { .has_path = 1, .is_mounted = 1, .name_count = (uint8_t)count };

	for (size_t i = 0; i < count; i++)
		strncpy(sb.names[i], names[i], PATH_NAME - 1);
	return sb;
}

TEST(names_are_noted_from_the_last_to_the_first)
{
	const char *const names[] = { "scratch", "lustre", "mnt" };
	const struct superblock sb = seen_at(3, names);
	char path[NAMING_PATH_SIZE];

	naming_format_path(&sb, path);
	ASSERT_STREQ(path, "/mnt/lustre/scratch");
}

TEST(no_name_is_the_root)
{
	const struct superblock sb = seen_at(0, NULL);
	char path[NAMING_PATH_SIZE];

	naming_format_path(&sb, path);
	ASSERT_STREQ(path, "/");
}

TEST(a_path_that_is_cut_says_so)
{
	const char *const names[] = { "b", "a" };
	struct superblock sb = seen_at(2, names);
	char path[NAMING_PATH_SIZE];

	sb.is_cut = 1;
	naming_format_path(&sb, path);
	ASSERT_STREQ(path, ".../a/b");
}

TEST(what_is_mounted_nowhere_has_no_path)
{
	struct superblock sb = seen_at(0, NULL);
	char path[NAMING_PATH_SIZE];

	sb.is_mounted = 0;
	naming_format_path(&sb, path);
	ASSERT_STREQ(path, "");
}

TEST(the_longest_path_fits)
{
	char long_name[PATH_NAME] = "", path[NAMING_PATH_SIZE];
	const char *names[PATH_NAMES];
	struct superblock sb;

	memset(long_name, 'x', PATH_NAME - 1);
	for (size_t i = 0; i < PATH_NAMES; i++)
		names[i] = long_name;
	sb = seen_at(PATH_NAMES, names);
	sb.is_cut = 1;
	naming_format_path(&sb, path);
	ASSERT_EQ(strlen(path), 3 + PATH_NAMES * PATH_NAME);
}

/* ---- which mount ---- */

struct tables {
	struct mounts before, now;
	struct naming naming;
};

static void open_tables(struct tables *t, const char *before, const char *now)
{
	char *texts[2] = { strdup(before), strdup(now) };

	*t = (struct tables){};
	ASSERT_OK(mounts_parse(texts[0], &t->before, NULL));
	ASSERT_OK(mounts_parse(texts[1], &t->now, NULL));
	t->naming = (struct naming){ .before = &t->before, .now = &t->now };
	free(texts[0]);
	free(texts[1]);
}

static void close_tables(struct tables *t)
{
	mounts_clear(&t->before);
	mounts_clear(&t->now);
}

static const char *find(struct tables *t, uint32_t device, const char *path, bool is_own)
{
	const struct mount *found = naming_find_mount(&t->naming, device, path, is_own);

	return found ? found->point : "";
}

#define ROOT "20 1 0:1 / / rw - ext4 /dev/a rw\n"
#define DATA "21 20 0:2 / /data rw - xfs /dev/b rw\n"
#define BOUND "22 20 0:2 /part /b rw - xfs /dev/b rw\n"

TEST(what_was_there_all_the_time_has_its_own_name)
{
	_cleanup_(close_tables) struct tables t;

	open_tables(&t, ROOT DATA BOUND, ROOT DATA BOUND);
	ASSERT_STREQ(find(&t, DEVICE(2), "/b", OWN), "/data"); /* seen through a bind mount */
	ASSERT_STREQ(find(&t, DEVICE(2), "", OWN), "/data");
	ASSERT_STREQ(find(&t, DEVICE(2), "/in/a/chroot", OWN), "/data");
}

TEST(another_namespace_has_names_of_its_own)
{
	_cleanup_(close_tables) struct tables t;

	open_tables(&t, ROOT DATA, ROOT DATA);
	ASSERT_STREQ(find(&t, DEVICE(2), "/work", OTHER), ""); /* the job's own */
	ASSERT_STREQ(find(&t, DEVICE(2), "/data", OTHER), "/data"); /* the same as ours */
	ASSERT_STREQ(find(&t, DEVICE(1), "/", OTHER), "/");
}

TEST(a_number_that_was_given_twice_is_told_by_the_path)
{
	_cleanup_(close_tables) struct tables t;

	open_tables(&t, ROOT, ROOT "23 20 0:9 / /second rw - tmpfs none rw\n");
	ASSERT_STREQ(find(&t, DEVICE(9), "/first", OWN), "");
	ASSERT_STREQ(find(&t, DEVICE(9), "/second", OWN), "/second");
}

TEST(a_mount_that_has_gone_keeps_its_name)
{
	_cleanup_(close_tables) struct tables t;

	open_tables(&t, ROOT DATA, ROOT);
	ASSERT_STREQ(find(&t, DEVICE(2), "/data", OWN), "/data");
	ASSERT_STREQ(find(&t, DEVICE(2), "", OWN), "/data");
}

TEST(what_no_table_knows_has_no_mount)
{
	_cleanup_(close_tables) struct tables t;

	open_tables(&t, ROOT, ROOT);
	ASSERT_STREQ(find(&t, DEVICE(7), "/gone", OWN), "");
	ASSERT_STREQ(find(&t, DEVICE(7), "", OWN), "");
}
