/* SPDX-License-Identifier: MIT */
#include "load/sizing.h"

#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"
#include "load/objects.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)

/* What is promised: see the design's scale. */
static const struct sizing_shape large_node = {
	.cpus = 256, .jobs = 1024, .mounts = 8, .has_histograms = true, .has_groups = true
};

struct plan {
	struct object_map maps[MAPS_MAX];
	size_t count;
};

/* By the maps as they are in the BPF objects, with their real keys and values. */
static uint64_t plan(const struct sizing *sizing, struct plan *ret)
{
	uint64_t bytes = 0;

	ret->count = 0;
	ASSERT_OK(objects_plan(sizing, ret->maps, &ret->count));
	for (size_t i = 0; i < ret->count; i++)
		bytes += ret->maps[i].bytes;
	return bytes;
}

static unsigned int entries_of(const struct plan *plan, const char *map)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (strcmp(plan->maps[i].form.name, map) == 0)
			return plan->maps[i].form.entries;
	}
	return 0;
}

static void print(const struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		printf("%-20s %8u x %4u %10" PRIu64 "\n", plan->maps[i].form.name,
		       plan->maps[i].form.entries, plan->maps[i].form.value_bytes,
		       plan->maps[i].bytes);
}

TEST(a_large_node_fits_the_limit_with_all_it_needs)
{
	const struct sizing limited = { .shape = large_node };
	const struct sizing unlimited = { .shape = large_node, .limit_bytes = UINT64_MAX };
	struct plan with, without;
	uint64_t bytes = plan(&limited, &with);

	if (getenv("PRINT_MAPS"))
		print(&with);
	ASSERT(bytes <= SIZING_LIMIT_MIB * MIB);
	ASSERT(plan(&unlimited, &without) < bytes + bytes / 100); /* the shape asks for no more */
	ASSERT(entries_of(&with, "file_rows") >= (256 + 1024) * 8);
	ASSERT(entries_of(&with, "superblocks") >= 1024);
	ASSERT(entries_of(&with, "groups") >= 1024 * 8);
}

/* On kernels that have no room in tasks; on others they have no bound. */
TEST(each_task_has_room_where_tasks_have_none)
{
	static const char *const names[] = { "task_baselines", "task_states" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct map_form form = { .type = BPF_MAP_TYPE_HASH,
					 .key_bytes = 8,
					 .value_bytes = 8 };
		const struct sizing sizing = { .shape = large_node, .limit_bytes = UINT64_MAX };

		snprintf(form.name, sizeof(form.name), "%s", names[i]);
		(void)sizing_choose(&sizing, &form, 1);
		ASSERT_EQ(form.entries, 1024u * SIZING_TASKS_OF_A_JOB);
	}
}

static uint64_t bytes_of(const struct plan *plan, const char *map)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (strcmp(plan->maps[i].form.name, map) == 0)
			return plan->maps[i].bytes;
	}
	return 0;
}

TEST(what_is_on_demand_takes_its_memory_when_it_is_asked_for)
{
	struct sizing asked = { .shape = large_node };
	struct plan p;

	plan(&asked, &p);
	ASSERT(bytes_of(&p, "followed_names") < 16 << 10); /* and not an element for each CPU */
	asked.shape.followed = 1000;
	plan(&asked, &p);
	ASSERT(bytes_of(&p, "followed_names") > 1000 * 520);
}

TEST(files_of_all_groups_are_within_the_limit_and_a_group_has_an_eighth_of_them)
{
	const unsigned int files = SIZING_LIMIT_MIB * SIZING_FILES_OF_A_MIB;
	struct sizing sizing = { .shape = large_node };
	struct plan p;

	sizing.shape.followed = files;
	ASSERT(plan(&sizing, &p) <= SIZING_LIMIT_MIB * MIB);
	ASSERT_EQ(entries_of(&p, "followed_files"), files);
	ASSERT_EQ(entries_of(&p, "unfollowed_files"), 1u);
	ASSERT_EQ(entries_of(&p, "unfollowed_by_cgroup"), 1280u * 2);
	ASSERT_EQ(entries_of(&p, "file_rows"), 1280u * 13 * 5); /* histograms gave way */
	ASSERT_EQ(sizing_share("followed_files", files, &sizing.shape), files / 8);
	ASSERT_EQ(sizing_share("followed_counts", files * 4, &sizing.shape), files / 2);
	ASSERT_EQ(sizing_share("open_files", 8192, &sizing.shape), 1024u);
}

TEST(system_calls_of_all_groups_are_within_the_limit_and_those_of_one_beyond_it)
{
	struct sizing sizing = { .shape = large_node };
	struct plan p;

	sizing.shape.names_syscalls = true;
	ASSERT(plan(&sizing, &p) <= SIZING_LIMIT_MIB * MIB);
	ASSERT(entries_of(&p, "syscalls_by_cgroup") > 1280u * 2 * 32); /* of 40 that it asks for */
	ASSERT_EQ(entries_of(&p, "syscall_rows"), 1u);
	sizing.limit_bytes = 41 * MIB; /* they give way before rows of files */
	ASSERT(plan(&sizing, &p) <= 41 * MIB);
	ASSERT_EQ(entries_of(&p, "file_rows"), 1280u * 13 * 5);
	ASSERT(entries_of(&p, "syscalls_by_cgroup") > 1024 &&
	       entries_of(&p, "syscalls_by_cgroup") < 1280 * 2 * 40);
	sizing = (struct sizing){ .shape = { .cpus = 2, .names_syscalls = true },
				  .limit_bytes = 1 };
	plan(&sizing, &p);
	ASSERT_EQ(entries_of(&p, "syscall_rows"), 1601u);
	ASSERT_EQ(entries_of(&p, "parked_syscalls"), 16384u);
	ASSERT(bytes_of(&p, "parked_syscalls") > 16384 * 88);
	ASSERT_EQ(entries_of(&p, "syscalls_by_cgroup"), 1u);
}

TEST(no_map_is_of_a_kind_whose_memory_is_not_known)
{
	const struct sizing sizing = { .shape = large_node };
	struct plan p;

	plan(&sizing, &p);
	ASSERT(p.count > 0);
	for (size_t i = 0; i < p.count; i++)
		ASSERT(p.maps[i].bytes > 0);
}

TEST(histograms_give_way_before_rows)
{
	const struct sizing sizing = { .shape = large_node, .limit_bytes = 39 * MIB };
	struct plan p;
	uint64_t bytes = plan(&sizing, &p);

	ASSERT(bytes <= 39 * MIB);
	ASSERT_EQ(entries_of(&p, "file_rows"), 1280u * 13 * 5);
	ASSERT(entries_of(&p, "file_histograms") < 1280 * 13 * 7 / 5);
	ASSERT(entries_of(&p, "file_histograms") > 1000);
}

TEST(what_a_limit_leaves_is_used)
{
	struct map_form form = { .name = "file_histograms",
				 .type = BPF_MAP_TYPE_HASH,
				 .key_bytes = 24,
				 .value_bytes = 448 };
	const struct sizing sizing = { .shape = large_node, .limit_bytes = MIB };

	ASSERT(sizing_choose(&sizing, &form, 1) <= MIB);
	form.entries++;
	ASSERT(map_form_bytes(&form, 256) > MIB);
}

TEST(rows_give_way_when_no_histogram_is_left)
{
	const struct sizing sizing = { .shape = large_node, .limit_bytes = 28 * MIB };
	struct plan p;

	ASSERT(plan(&sizing, &p) <= 28 * MIB);
	ASSERT_EQ(entries_of(&p, "file_histograms"), 1u);
	ASSERT(entries_of(&p, "file_rows") < 1280 * 13 * 5);
	ASSERT(entries_of(&p, "file_rows") > 1000);
}

TEST(no_limit_is_so_low_that_there_are_no_rows)
{
	const struct sizing sizing = { .shape = large_node, .limit_bytes = 1 };
	struct plan p;

	ASSERT(plan(&sizing, &p) > 1); /* and so it is told what they take */
	ASSERT_EQ(entries_of(&p, "file_histograms"), 1u);
	ASSERT_EQ(entries_of(&p, "file_rows"), 64u);
}

TEST(one_job_has_room_for_any_kind_of_job)
{
	const struct sizing sizing = { .shape = { .cpus = 2, .has_histograms = true } };
	struct plan p;

	ASSERT(plan(&sizing, &p) < 10 * MIB);
	ASSERT_EQ(entries_of(&p, "file_rows"), 8192u);
	ASSERT_EQ(entries_of(&p, "file_histograms"), 2048u);
	ASSERT_EQ(entries_of(&p, "parked_calls"), 8192u);
}

TEST(a_machine_of_many_cpus_has_more_rows_for_one_job)
{
	const struct sizing sizing = { .shape = { .cpus = 1024, .has_histograms = true } };
	struct plan p;

	ASSERT(plan(&sizing, &p) <= SIZING_LIMIT_MIB * MIB);
	ASSERT_EQ(entries_of(&p, "file_rows"), 1025u * 13 * 5);
}

TEST(without_histograms_there_is_no_room_for_any)
{
	const struct sizing sizing = { .shape = { 256, 1024, 8, false } };
	struct plan p;

	plan(&sizing, &p);
	ASSERT_EQ(entries_of(&p, "file_histograms"), 1u);
}

TEST(a_fixed_size_stands_whatever_the_limit)
{
	static const struct map_size fixed[] = { { "file_rows", 1000 }, { "superblocks", 3 }, {} };
	const struct sizing sizing = { .shape = large_node, .limit_bytes = 1, .fixed = fixed };
	struct plan p;

	plan(&sizing, &p);
	ASSERT_EQ(entries_of(&p, "file_rows"), 1000u);
	ASSERT_EQ(entries_of(&p, "superblocks"), 3u);
}

TEST(without_groups_there_is_no_room_for_any)
{
	const struct sizing sizing = { .shape = { 256, 1024, 8, true } };
	struct plan p;

	ASSERT(plan(&sizing, &p) < 46 * MIB);
	ASSERT_EQ(entries_of(&p, "groups"), 1u);
	ASSERT_EQ(entries_of(&p, "given_back"), 1u);
}

TEST(one_group_may_have_an_eighth_or_what_one_job_on_all_cpus_needs)
{
	const struct sizing_shape few = { .cpus = 2, .jobs = 1 };

	ASSERT_EQ(sizing_share("file_rows", 8192, &few), 1024u);
	ASSERT_EQ(sizing_share("file_rows", 83200, &large_node), 257u * 13 * 5);
	ASSERT_EQ(sizing_share("file_rows", 64, &few), 32u);
	ASSERT_EQ(sizing_share("superblocks", 1024, &few), 128u);
	ASSERT_EQ(sizing_share("no such map", 800, &few), 100u);
}
