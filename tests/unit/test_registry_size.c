/* SPDX-License-Identifier: MIT */
/* A node at its largest: what the registry takes, and that its work grows no faster than it does.
 */
#include <stdio.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "heap.h"
#include "lives.h"
#include "basic/macro.h"
#include "jobs/registry_internal.h"
#include "test.h"

static size_t kib_since(size_t before)
{
	return (heap_bytes() - before) >> 10;
}

/* @jobs jobs of @cgroups groups each, one of which did something at @places places in 5 ways. */
static void fill(struct registry *r, size_t jobs, size_t cgroups, size_t places)
{
	static const unsigned int ops[] = { OP_READ, OP_WRITE, OP_OPEN, OP_CLOSE, OP_STAT };
	_cleanup_free_ struct group_life *lives = calloc(jobs * cgroups, sizeof(*lives));
	_cleanup_free_ struct cgroup_tasks *tasks = calloc(jobs * cgroups, sizeof(*tasks));
	_cleanup_free_ struct cgroup_row *rows = calloc(jobs * places * 5, sizeof(*rows));
	size_t row = 0;

	for (size_t j = 0; j < jobs; j++) {
		uint64_t id = j * cgroups + 1;
		char path[128];

		for (size_t i = 0; i < cgroups; i++) {
			snprintf(path, sizeof(path),
				 i ? "/slurm/uid_1000/job_%zu/step_0/task_%zu"
				   : "/slurm/uid_1000/job_%zu",
				 j, i);
			lives[id + i - 1] = life(id + i, i ? id : 0, 110, 0, path);
			tasks[id + i - 1] = tasks_of(id + i, 1, 1, 1);
		}
		for (size_t k = 0; k < places * 5; k++)
			rows[row++] = row_of(id + cgroups - 1, k / 5 + 1, ops[k % 5],
					     INTERFACE_CALL, 1, 1);
	}
	learn(r, 120, lives, jobs * cgroups);
	feed(r, tasks, jobs * cgroups, rows, row);
}

TEST(a_thousand_jobs_take_little_memory)
{
	size_t before = heap_bytes(), fed_kib, shown_kib;
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	fill(r, 1024, 1, 13);
	fed_kib = kib_since(before);
	s = snap(r, 121);
	shown_kib = kib_since(before);
	ASSERT_EQ(s->job_count, (size_t)1024);
	ASSERT_EQ(s->jobs[0].row_count, (size_t)65);
	if (HEAP_IS_COUNTED) {
		printf("1,024 jobs x 13 places x 5 rows: fed %zu KiB; at rest, with the snapshot, %zu KiB\n",
		       fed_kib, shown_kib);
		printf("a job %zu bytes, a group %zu, a row %zu, a step %zu; of a snapshot: a job %zu, a row %zu\n",
		       sizeof(struct registry_job), sizeof(struct registry_group),
		       sizeof(struct registry_row), sizeof(struct registry_step),
		       sizeof(struct snapshot_job), sizeof(struct snapshot_row));
		ASSERT(shown_kib < 8400);
	}
	ASSERT(!r->tasks && !r->cores && !r->parts && !r->rows);
}

TEST(what_ended_is_folded_and_given_back)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	size_t first = 0;

	for (uint64_t round = 0; round < 20; round++) {
		_cleanup_free_ struct group_life *lives = calloc(64, sizeof(*lives));
		_cleanup_free_ struct cgroup_row *rows = calloc(64, sizeof(*rows));
		uint64_t now = 200 + round * 1000;
		char path[64];

		for (uint64_t i = 0; i < 64; i++) {
			snprintf(path, sizeof(path), "/jobmeter-run-%u",
				 (unsigned int)(round * 64 + i));
			lives[i] = life(round * 64 + i + 1, 0, now, now + 1, path);
			rows[i] = row_of(lives[i].id, round * 64 + i + 1, OP_READ, INTERFACE_CALL,
					 1, 1);
		}
		learn(r, now + 2, lives, 64);
		feed(r, NULL, 0, rows, 64);
		ASSERT_EQ(fold_and_forget(r, now + 3), (size_t)64);
		registry_expire(r, (now + 3) * SECOND, NULL, NULL);
		(void)snap(r, now + 4);
		if (round == 9)
			first = heap_bytes();
	}
	if (HEAP_IS_COUNTED)
		ASSERT(heap_bytes() < first + 65536);
}

/* With work that grows with the square this would take minutes, and with sanitizers hours. */
TEST(the_largest_node_is_learned_fed_and_shown)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct snapshot *s;

	fill(r, 1024, 8, 2);
	s = snap(r, 121);
	ASSERT_EQ(s->job_count, (size_t)1024);
	ASSERT_EQ(s->jobs[7].values[METRIC_TASKS_LIVE].number, (uint64_t)8);
}

TEST(a_job_of_thousands_of_steps_and_groups_is_bounded)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	_cleanup_free_ struct group_life *lives = calloc(8192, sizeof(*lives));
	struct snapshot *s;
	char path[64];

	for (uint64_t i = 0; i < 8192; i++) {
		snprintf(path, sizeof(path), "/slurm/uid_1/job_1/step_%u", (unsigned int)i);
		lives[i] = life(i + 1, 0, 110, 0, path);
	}
	learn(r, 120, lives, 8192);
	s = snap(r, 121);
	ASSERT_EQ(s->jobs[0].step_count, (size_t)1024);
}
