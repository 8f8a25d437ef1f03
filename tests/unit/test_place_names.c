/* SPDX-License-Identifier: MIT */
#include "counters/place_names.h"

#include <errno.h>
#include <fcntl.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "bpf/files.h"
#include "test.h"

static struct place_names *open_names(int root_fd)
{
	struct place_names *names;
	struct error err = {};

	ASSERT_OK(place_names_open(root_fd, NULL, NULL, 0, &names, &err));
	return names;
}

TEST(places_that_are_no_superblock_have_names)
{
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct place_names *names = open_names(root_fd);

	ASSERT_STREQ(place_names_get(names, PLACE_EXEC)->name, "(exec)");
	ASSERT_STREQ(place_names_get(names, PLACE_KERNEL)->name, "(kernel)");
	ASSERT_STREQ(place_names_get(names, PLACE_UNRESOLVED)->name, "(unresolved)");
	ASSERT_STREQ(place_names_get(names, 4711)->name, "(unresolved)"); /* no map knows it */
	place_names_close(names);
}

TEST(a_name_stays_where_it_is_as_others_come)
{
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct place_names *names = open_names(root_fd);
	const struct snapshot_mount *first = place_names_get(names, UINT64_C(1) << 40);

	for (uint64_t place = 1009; place > 0; place--)
		ASSERT(place_names_get(names, place));
	ASSERT(place_names_get(names, UINT64_C(1) << 40) == first);
	place_names_close(names);
}

TEST(names_that_are_asked_for_outlive_a_refresh)
{
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct place_names *names = open_names(root_fd);
	const struct snapshot_mount *first = place_names_get(names, PLACE_EXEC);
	struct error err = {};

	ASSERT_OK(place_names_refresh(names, -EBADF, true, &err));
	ASSERT(place_names_get(names, PLACE_EXEC) == first);
	place_names_close(names);
	ASSERT(!place_names_close(NULL));
}

TEST(a_root_without_mounts_is_an_error)
{
	_cleanup_close_ int root_fd = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct place_names *names = NULL;
	struct error err = {};

	ASSERT(place_names_open(root_fd, NULL, NULL, 0, &names, &err) < 0);
	ASSERT(!names);
}
