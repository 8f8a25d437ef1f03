/* SPDX-License-Identifier: MIT */
#include "counters/cgroups.h"

#include <string.h>

#include "bpf/groups.h"
#include "test.h"

TEST(a_life_is_what_the_kernel_side_noted)
{
	struct group_entry entry = { .parent = 3,
				     .born_ns = 5,
				     .died_ns = 7,
				     .peak_pages = 11,
				     .oom_kills = 13,
				     .has_oom_kills = 1,
				     .maker_uid = 17,
				     .is_delegated = 1,
				     .path = "/slurm/uid_1000/job_7" };
	struct group_life life;

	group_life_fill(19, &entry, 4096, &life);
	ASSERT_EQ(life.id, 19u);
	ASSERT_EQ(life.parent, 3u);
	ASSERT_EQ(life.born_ns, 5u);
	ASSERT_EQ(life.died_ns, 7u);
	ASSERT_EQ(life.peak_bytes, 11u * 4096);
	ASSERT(life.has_oom_kills && life.oom_kills == 13);
	ASSERT_EQ(life.maker_uid, 17u);
	ASSERT(life.is_delegated);
	ASSERT_STREQ(life.path, "/slurm/uid_1000/job_7");
}

TEST(a_path_always_ends)
{
	struct group_entry entry = { .is_cut = 1 };
	struct group_life life;

	memset(entry.path, 'x', sizeof(entry.path));
	group_life_fill(1, &entry, 4096, &life);
	ASSERT(life.is_cut);
	ASSERT_EQ(strlen(life.path), sizeof(life.path) - 1);
}
