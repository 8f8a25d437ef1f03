/* SPDX-License-Identifier: MIT */
#include "model/reading.h"

#include <stdio.h>

#include "basic/cleanup.h"
#include "test.h"

static struct mount_row *add(struct reading *r, const char *mount, const char *fstype,
			     uint64_t bytes)
{
	struct mount_row *row = reading_get_mount(r, row_kind_of(mount), mount, fstype);

	ASSERT(row != NULL);
	r->has_mounts = true;
	row->has_seconds = row->has_histograms = true;
	row->ops[OP_READ] = (struct op_counts){ .calls = 1, .bytes = bytes, .errors = 2, .ns = 3 };
	row->sizes[OP_READ].counts[5] = 1;
	return row;
}

TEST(names_of_rows_lead_back_to_their_kinds)
{
	for (int kind = 0; kind < ROW_KIND_COUNT; kind++) {
		const char *name = row_kind_name((enum row_kind)kind);

		ASSERT_EQ(name == NULL, kind == ROW_MOUNT);
		if (name)
			ASSERT_EQ(row_kind_of(name), (unsigned int)kind);
	}
	ASSERT_EQ(row_kind_of("/pipe"), ROW_MOUNT);
}

TEST(a_row_is_found_again_by_kind_name_and_type)
{
	_cleanup_(reading_clear) struct reading r = {};

	add(&r, "/", "ext4", 1);
	ASSERT(reading_get_mount(&r, ROW_MOUNT, "/", "ext4") == &r.mounts[0]);
	ASSERT(reading_find_mount(&r, ROW_MOUNT, "/", "xfs") == NULL);
	ASSERT(reading_find_mount(&r, ROW_MOUNT, "/", NULL) == NULL);
	add(&r, "/", "overlay", 1);
	add(&r, "(pipe)", NULL, 1);
	ASSERT_EQ(r.mount_count, 3);
	ASSERT(reading_find_mount(&r, ROW_PIPE, "(pipe)", NULL) == &r.mounts[2]);
}

TEST(rows_are_bounded)
{
	struct reading r = {};
	char name[32];

	for (int i = 0; i < MOUNT_ROWS_MAX; i++) {
		snprintf(name, sizeof(name), "/%d", i);
		ASSERT(reading_get_mount(&r, ROW_MOUNT, name, NULL) != NULL);
	}
	ASSERT(reading_get_mount(&r, ROW_MOUNT, "/one-more", NULL) == NULL);
	ASSERT(reading_get_mount(&r, ROW_MOUNT, "/7", NULL) != NULL);
	reading_clear(&r);
	ASSERT_EQ(r.mount_count, 0);
}

static void fill(struct reading *r, const char *prefix)
{
	char name[32];

	for (int i = 0; i < MOUNT_ROWS_MAX; i++) {
		snprintf(name, sizeof(name), "%s%d", prefix, i);
		add(r, name, "ext4", 3);
	}
}

TEST(what_a_sum_has_no_room_for_is_in_its_row_of_others)
{
	_cleanup_(reading_clear) struct reading a = {}, b = {}, copy = {};
	struct mount_row *other;
	uint64_t bytes = 0;

	fill(&a, "/a");
	fill(&b, "/b");
	ASSERT_OK(reading_merge(&a, &b));
	ASSERT_OK(reading_merge(&a, &b));
	ASSERT_EQ(a.mount_count, (size_t)MOUNT_ROWS_MAX);
	other = reading_find_mount(&a, ROW_OTHER, "(other)", NULL);
	ASSERT(other && !other->fstype && !other->source);
	ASSERT_EQ(other->ops[OP_READ].bytes, UINT64_C(3) * (1 + 2 * MOUNT_ROWS_MAX));
	for (size_t i = 0; i < a.mount_count; i++)
		bytes += a.mounts[i].ops[OP_READ].bytes;
	ASSERT_EQ(bytes, UINT64_C(3) * 3 * MOUNT_ROWS_MAX);
	ASSERT_OK(reading_copy(&copy, &a));
	ASSERT_EQ(copy.mount_count, a.mount_count);
}

TEST(counters_are_added_peaks_and_limits_are_the_greater)
{
	struct reading a = {}, b = {};

	reading_add(&a, METRIC_CPU_USER, 3);
	reading_add(&a, METRIC_CPU_USER, 4);
	reading_set(&b, METRIC_CPU_USER, 10);
	reading_set(&a, METRIC_MEMORY_PEAK, 5);
	reading_set(&b, METRIC_MEMORY_PEAK, 4);
	reading_set(&b, METRIC_MEMORY_LIMIT, 9);
	ASSERT_OK(reading_merge(&a, &b));
	ASSERT_EQ(a.values[METRIC_CPU_USER].number, 17);
	ASSERT_EQ(a.values[METRIC_MEMORY_PEAK].number, 5);
	ASSERT_EQ(a.values[METRIC_MEMORY_LIMIT].number, 9);
}

TEST(gauges_of_two_nodes_are_added)
{
	_cleanup_(reading_clear) struct reading a = {}, b = {};

	reading_set(&a, METRIC_TASKS_LIVE, 3);
	reading_set(&b, METRIC_TASKS_LIVE, 4);
	reading_set(&b, METRIC_MEMORY_USAGE, 4096); /* a node of two: half a sum says nothing */
	ASSERT_OK(reading_merge(&a, &b));
	ASSERT_EQ(a.values[METRIC_TASKS_LIVE].number, (uint64_t)7);
	ASSERT(!a.values[METRIC_MEMORY_USAGE].is_known);
}

TEST(a_sum_of_a_part_is_not_the_sum)
{
	struct reading a = {}, b = {};

	reading_set(&a, METRIC_CPU_USER, 3);
	reading_set(&b, METRIC_CPU_SYSTEM, 3);
	ASSERT_OK(reading_merge(&a, &b));
	ASSERT(!a.values[METRIC_CPU_USER].is_known);
	ASSERT(!a.values[METRIC_CPU_SYSTEM].is_known);

	add(&a, "/", NULL, 7);
	ASSERT_OK(reading_merge(&a, &b)); /* b did not look at files */
	ASSERT(!a.has_mounts);
	ASSERT_EQ(a.mount_count, 0);
	reading_clear(&a);
}

TEST(mounts_are_merged_by_name_with_their_histograms)
{
	_cleanup_(reading_clear) struct reading a = {}, b = {};

	ASSERT_OK(mount_row_add_alias(add(&a, "/home", "nfs4", 100), "/users"));
	add(&b, "/home", "nfs4", 11);
	ASSERT_OK(mount_row_add_alias(&b.mounts[0], "/users"));
	ASSERT_OK(mount_row_add_alias(&b.mounts[0], "/export/home"));
	add(&b, "/", "ext4", 5)->has_seconds = false;
	ASSERT_OK(reading_merge(&a, &b));

	ASSERT_EQ(a.mount_count, 2);
	ASSERT_EQ(a.mounts[0].ops[OP_READ].bytes, 111);
	ASSERT_EQ(a.mounts[0].ops[OP_READ].errors, 4);
	ASSERT_EQ(a.mounts[0].sizes[OP_READ].counts[5], 2);
	ASSERT_STREQ(a.mounts[0].aliases[0], "/users");
	ASSERT_STREQ(a.mounts[0].aliases[1], "/export/home");
	ASSERT(a.mounts[0].aliases[2] == NULL);
	ASSERT(a.mounts[0].has_seconds && a.mounts[1].has_histograms);
	ASSERT(!a.mounts[1].has_seconds);
}

TEST(interfaces_and_missing_files_are_merged_too)
{
	_cleanup_(reading_clear) struct reading a = {}, b = {};
	struct mount_row *row = add(&a, "/home", "nfs4", 100),
			 *other = add(&b, "/home", "nfs4", 11);

	row->interfaces[INTERFACE_SPLICE][OP_READ] = (struct op_counts){ .calls = 1, .bytes = 60 };
	other->interfaces[INTERFACE_SPLICE][OP_READ] =
		(struct op_counts){ .calls = 2, .bytes = 5, .errors = 1 };
	other->interfaces[INTERFACE_MAPPING][OP_WRITE].bytes = 4096;
	row->ops[OP_STAT] = (struct op_counts){ .calls = 9, .errors = 3, .not_found = 2 };
	other->ops[OP_STAT] = (struct op_counts){ .calls = 9, .errors = 3, .not_found = 3 };
	ASSERT_OK(reading_merge(&a, &b));
	row = &a.mounts[0];
	ASSERT_EQ(row->interfaces[INTERFACE_SPLICE][OP_READ].bytes, 65);
	ASSERT_EQ(row->interfaces[INTERFACE_SPLICE][OP_READ].calls, 3);
	ASSERT_EQ(mount_row_number(row, METRIC_MAPPED_WRITE_BYTES), 4096);
	ASSERT_EQ(mount_row_number(row, METRIC_META_NOT_FOUND), 5);
	ASSERT_EQ(mount_row_accounted_bytes(row, OP_READ), 111 - 65);
	ASSERT(mount_row_has_interface(row, INTERFACE_SPLICE) &&
	       !mount_row_has_interface(row, INTERFACE_LIBAIO));
	ASSERT(mount_row_knows(row, METRIC_META_NOT_FOUND));

	b.mounts[0].lacks_not_found = true; /* a sum of a part is not the sum */
	ASSERT_OK(reading_merge(&a, &b));
	ASSERT(!mount_row_knows(&a.mounts[0], METRIC_META_NOT_FOUND));
}

TEST(interfaces_are_parts_of_the_whole)
{
	struct mount_row row = { .ops[OP_WRITE] = { .calls = 3, .bytes = UINT64_MAX } };

	ASSERT(mount_row_interfaces_fit(&row, METRIC_INTERFACE_WRITE_BYTES));
	row.interfaces[INTERFACE_IO_URING][OP_WRITE] = (struct op_counts){ .calls = 2,
									   .bytes = UINT64_MAX };
	row.interfaces[INTERFACE_LIBAIO][OP_WRITE].calls = 1;
	row.interfaces[INTERFACE_MAPPING][OP_WRITE] = (struct op_counts){ .calls = 9, .bytes = 9 };
	ASSERT(mount_row_interfaces_fit(&row, METRIC_INTERFACE_WRITE_CALLS));
	ASSERT(mount_row_interfaces_fit(&row, METRIC_INTERFACE_WRITE_BYTES));
	row.interfaces[INTERFACE_SPLICE][OP_WRITE].bytes = 1; /* their sum would wrap */
	ASSERT(!mount_row_interfaces_fit(&row, METRIC_INTERFACE_WRITE_BYTES));
	ASSERT(mount_row_interfaces_fit(&row, METRIC_INTERFACE_READ_BYTES));
}

TEST(a_copy_is_equal_and_its_own)
{
	struct reading a = {}, b = {};

	add(&a, "/home", "nfs4", 100);
	reading_set(&a, METRIC_CPU_USER, 3);
	ASSERT_OK(reading_copy(&b, &a));
	ASSERT_OK(reading_copy(&b, &a));
	reading_clear(&a);
	ASSERT(b.has_mounts && b.mounts[0].has_seconds && b.mounts[0].has_histograms);
	ASSERT_STREQ(b.mounts[0].mount, "/home");
	ASSERT_EQ(b.mounts[0].ops[OP_READ].bytes, 100);
	ASSERT_EQ(b.values[METRIC_CPU_USER].number, 3);
	reading_clear(&b);
}

TEST(more_aliases_than_fit_are_dropped)
{
	_cleanup_(reading_clear) struct reading r = {};
	char name[16];

	add(&r, "/", NULL, 1);
	for (int i = 0; i < MOUNT_ALIASES_MAX + 3; i++) {
		snprintf(name, sizeof(name), "/%d", i);
		ASSERT_OK(mount_row_add_alias(&r.mounts[0], name));
	}
	ASSERT_STREQ(r.mounts[0].aliases[MOUNT_ALIASES_MAX - 1], "/7");
}

TEST(mounts_are_sorted_by_bytes_then_name)
{
	_cleanup_(reading_clear) struct reading r = {};

	add(&r, "/b", NULL, 5);
	add(&r, "/c", NULL, 50);
	add(&r, "/a", NULL, 5);
	reading_sort_mounts(&r);
	ASSERT_STREQ(r.mounts[0].mount, "/c");
	ASSERT_STREQ(r.mounts[1].mount, "/a");
	ASSERT_STREQ(r.mounts[2].mount, "/b");
}

static void open_on(struct reading *r, const char *mount, uint64_t calls, uint64_t errors)
{
	struct mount_row *row = add(r, mount, NULL, 0);

	row->ops[OP_OPEN] = (struct op_counts){ .calls = calls, .errors = errors };
	row->ops[OP_CLOSE] = (struct op_counts){ .calls = 7, .errors = 7 };
}

TEST(paths_are_placed_where_next_to_none_is_without_a_mount)
{
	_cleanup_(reading_clear) struct reading r = {};

	ASSERT(reading_paths_are_placed(&r));
	open_on(&r, "/", 9900, 3);
	open_on(&r, "(kernel)", 100000, 0); /* nobody's */
	ASSERT(reading_paths_are_placed(&r));
	open_on(&r, "(unresolved)", 100, 100);
	ASSERT(reading_paths_are_placed(&r));
	ASSERT(reading_failures_are_known(&r, &r.mounts[0]));
	r.mounts[2].ops[OP_OPEN].calls = 101;
	ASSERT(!reading_paths_are_placed(&r));
	ASSERT(!reading_failures_are_known(&r, &r.mounts[0]));
	ASSERT(reading_failures_are_known(&r, &r.mounts[2]));
	/* a wrong descriptor has no mount on any kernel */
	r.mounts[2].ops[OP_OPEN].calls = 1;
	r.mounts[2].ops[OP_CLOSE].calls = 1000000;
	ASSERT(reading_paths_are_placed(&r));
}

TEST(rows_add_up_to_one_without_kernel_threads)
{
	_cleanup_(reading_clear) struct reading r = {};
	struct mount_row *sum;

	add(&r, "/", "ext4", 17)->interfaces[INTERFACE_IO_URING][OP_READ].calls = 5;
	add(&r, "(pipe)", NULL, 19)->has_seconds = false;
	add(&r, "(kernel)", NULL, 23);
	sum = reading_sum_rows(&r, "all");
	ASSERT_STREQ(sum->mount, "all");
	ASSERT_EQ(sum->ops[OP_READ].bytes, (uint64_t)36);
	ASSERT_EQ(sum->ops[OP_READ].ns, (uint64_t)6);
	ASSERT_EQ(sum->interfaces[INTERFACE_IO_URING][OP_READ].calls, (uint64_t)5);
	ASSERT_EQ(sum->sizes[OP_READ].counts[5], (uint64_t)2);
	ASSERT(!sum->has_seconds && sum->has_histograms);
	mount_row_free(sum);
}
