/* SPDX-License-Identifier: MIT */
#include "model/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "test.h"

static const struct snapshot_mount mounts[] = {
	{ .kind = ROW_MOUNT,
	  .name = "/scratch",
	  .fstype = "lustre",
	  .source = "mds",
	  .aliases = { "/work" } },
	{ .kind = ROW_PIPE, .name = "(pipe)" },
};

/* Two mounts and the named jobs, in the order that a snapshot wants. */
static struct snapshot *make(const char *const (*names)[2], size_t count)
{
	struct snapshot *s = snapshot_new();

	s->mounts = calloc(2, sizeof(*s->mounts));
	for (s->mount_count = 0; s->mount_count < 2; s->mount_count++)
		ASSERT_OK(snapshot_mount_copy(&s->mounts[s->mount_count], &mounts[s->mount_count]));
	s->jobs = calloc(count, sizeof(*s->jobs));
	for (s->job_count = 0; s->job_count < count; s->job_count++) {
		s->jobs[s->job_count].job = job_new(names[s->job_count][0], names[s->job_count][1]);
	}
	return s;
}

static void add_rows(struct snapshot_job *job, const struct snapshot_row *rows, size_t count)
{
	job->rows = snapshot_rows_new(count);
	memcpy(job->rows, rows, count * sizeof(*rows));
	job->row_count = count;
}

TEST(jobs_are_found_by_manager_and_id)
{
	static const char *const names[][2] = {
		{ "pbs", "9" },	     { "slurm", "9" },	  { "slurm", "10" },
		{ "slurm", "10_1" }, { "slurm", "s5K1" },
	};
	_cleanup_(snapshot_unrefp) struct snapshot *s = make(names, 5);

	for (size_t i = 0; i < 5; i++)
		ASSERT(snapshot_find(s, names[i][0], names[i][1]) == &s->jobs[i]);
	ASSERT(!snapshot_find(s, "slurm", "1"));
	ASSERT(!snapshot_find(s, "slur", "9"));
	ASSERT(!snapshot_find(s, "zoo", ""));
}

TEST(of_a_requeued_job_the_first_is_found)
{
	static const char *const names[][2] = {
		{ "slurm", "8" }, { "slurm", "9" },  { "slurm", "9" },
		{ "slurm", "9" }, { "slurm", "10" },
	};
	_cleanup_(snapshot_unrefp) struct snapshot *s = make(names, 5);

	ASSERT(snapshot_find(s, "slurm", "9") == &s->jobs[1]);
	ASSERT(snapshot_find(s, "slurm", "10") == &s->jobs[4]);
}

TEST(nothing_is_found_in_an_empty_one)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = snapshot_new();

	ASSERT(!snapshot_find(s, "slurm", "1"));
	ASSERT(snapshot_unref(NULL) == NULL);
}

TEST(a_job_is_expanded_to_a_row_a_mount)
{
	static const char *const names[][2] = { { "slurm", "1" } };
	static const struct snapshot_row rows[] = {
		{ 0,
		  OP_READ,
		  INTERFACE_CALL,
		  0,
		  { .calls = 3, .bytes = 300, .errors = 1, .ns = 17 } },
		{ 0, OP_READ, INTERFACE_SENDFILE, 0, { .calls = 2, .bytes = 20 } },
		{ 0, OP_READ, INTERFACE_MAPPING, 0, { .bytes = 4096 } },
		{ 0, OP_OPEN, INTERFACE_CALL, 0, { .calls = 5, .errors = 2, .not_found = 2 } },
		{ 1, OP_WRITE, INTERFACE_CALL, 0, { .calls = 7, .bytes = 77777 } },
	};
	_cleanup_(snapshot_unrefp) struct snapshot *s = make(names, 1);
	_cleanup_(reading_clear) struct reading r = {};
	const struct mount_row *scratch;

	s->has_mounts = s->has_seconds = true;
	s->jobs[0].values[METRIC_CPU_USER] = (struct value){ 5, true };
	add_rows(&s->jobs[0], rows, 5);
	ASSERT_OK(snapshot_expand(s, &s->jobs[0], &r));
	ASSERT(r.has_mounts);
	ASSERT_EQ(r.values[METRIC_CPU_USER].number, (uint64_t)5);
	ASSERT_EQ(r.mount_count, (size_t)2);
	ASSERT_STREQ(r.mounts[0].mount, "(pipe)"); /* it moved more */
	scratch = reading_find_mount(&r, ROW_MOUNT, "/scratch", "lustre");
	ASSERT(scratch && scratch->has_seconds && !scratch->has_histograms);
	ASSERT_STREQ(scratch->source, "mds");
	ASSERT_STREQ(scratch->aliases[0], "/work");
	ASSERT_EQ(scratch->ops[OP_READ].calls, (uint64_t)5);
	ASSERT_EQ(scratch->ops[OP_READ].bytes, (uint64_t)320);
	ASSERT_EQ(scratch->interfaces[INTERFACE_SENDFILE][OP_READ].bytes, (uint64_t)20);
	ASSERT_EQ(scratch->interfaces[INTERFACE_MAPPING][OP_READ].bytes, (uint64_t)4096);
	ASSERT_EQ(scratch->ops[OP_OPEN].not_found, (uint64_t)2);
}

TEST(without_files_no_row_does_not_mean_no_io)
{
	static const char *const names[][2] = { { "slurm", "1" } };
	_cleanup_(snapshot_unrefp) struct snapshot *s = make(names, 1);
	_cleanup_(reading_clear) struct reading r = {};

	ASSERT_OK(snapshot_expand(s, &s->jobs[0], &r));
	ASSERT(!r.has_mounts);
	ASSERT_EQ(r.mount_count, (size_t)0);
}

TEST(a_snapshot_lives_as_long_as_somebody_holds_it)
{
	static const char *const names[][2] = { { "slurm", "1" } };
	struct snapshot *s = make(names, 1);
	_cleanup_(snapshot_unrefp) struct snapshot *again = snapshot_ref(s);

	s->jobs[0].steps = calloc(1, sizeof(*s->jobs[0].steps));
	s->jobs[0].steps[0].id = strdup("batch");
	s->jobs[0].step_count = 1;
	snapshot_unref(s);
	ASSERT_STREQ(again->jobs[0].steps[0].id, "batch");
}
