/* SPDX-License-Identifier: MIT */
#include "tui/numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/cause.h"
#include "basic/cleanup.h"
#include "model/document.h"
#include "made.h"
#include "made_snapshot.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/sections/job_gpus.h"
#include "node/job_record.h"
#include "test.h"

#define S UINT64_C(1000000000)

static struct record *new_job(uint64_t user_ns, uint64_t read)
{
	struct record *r = record_new();
	struct mount_row *row = reading_get_mount(&r->reading, ROW_MOUNT, "/a", "xfs");

	reading_set(&r->reading, METRIC_CPU_USER, user_ns);
	reading_set(&r->reading, METRIC_CPU_SYSTEM, 0);
	r->reading.has_mounts = true;
	row->ops[OP_READ] = (struct op_counts){ .bytes = read, .calls = 1 };
	row->ops[OP_STAT].calls = read / 10;
	return r;
}

TEST(rates_are_differences_over_the_time_between)
{
	_cleanup_(record_freep) struct record *before = new_job(7 * S, 100),
					      *now = new_job(10 * S, 1109);
	struct numbers n = numbers_of_job(now, before, 2);

	ASSERT(test_is_near(n.cores, 1.5));
	ASSERT(test_is_near(n.read, 504.5));
	ASSERT(test_is_near(n.write, 0));
	ASSERT(test_is_near(n.meta, 50));
	ASSERT_EQ((uint64_t)n.mount_count, (uint64_t)1);
	ASSERT_STREQ(n.mounts[0].mount, "/a");
	ASSERT(test_is_near(n.mounts[0].meta, 50));
}

static void hold(struct record *r, const char *uuid, uint64_t held_s, uint64_t busy_s)
{
	struct job_gpus *gpus = section_of(r, &gpu_section);
	struct job_gpu *gpu = job_gpus_get(gpus, uuid, "0", "H100");

	gpus->is_known = true;
	job_gpu_add(gpu, METRIC_GPU_HELD, held_s * S);
	job_gpu_add(gpu, METRIC_GPU_BUSY, busy_s * S);
}

TEST(cards_kept_busy_are_told_with_those_held)
{
	_cleanup_(record_freep) struct record *before = new_job(7 * S, 100),
					      *now = new_job(10 * S, 1109);
	struct numbers n = numbers_of_job(now, before, 4);

	ASSERT(isnan(n.gpus) && isnan(n.gpus_held));
	hold(before, "GPU-1", 100, 80);
	hold(now, "GPU-1", 104, 83);
	hold(now, "GPU-2", 2, 0); /* since then */
	n = numbers_of_job(now, before, 4);
	ASSERT(test_is_near(n.gpus, 0.75));
	ASSERT(test_is_near(n.gpus_held, 1.5));
}

TEST(what_began_meanwhile_began_with_nothing)
{
	_cleanup_(record_freep) struct record *now = new_job(S, 500);
	struct numbers n = numbers_of_job(now, NULL, 0.5);

	ASSERT(test_is_near(n.cores, 2));
	ASSERT(test_is_near(n.read, 1000));
}

TEST(without_time_or_a_counter_nothing_is_known_and_nothing_is_zero)
{
	_cleanup_(record_freep) struct record *before = new_job(7 * S, 100),
					      *now = new_job(10 * S, 1109);
	struct numbers n = numbers_of_job(now, before, NAN);

	ASSERT(isnan(n.cores) && isnan(n.read) && isnan(n.meta) && !n.mount_count);
	n = numbers_of_job(now, before, 0);
	ASSERT(isnan(n.cores) && isnan(n.seconds));
	n = numbers_of_job(now, before, 1);
	ASSERT(isnan(n.waiting) && isnan(n.blocked) && isnan(n.memory) && isnan(n.cores_allowed));
	ASSERT_EQ((uint64_t)n.cause, (uint64_t)CAUSE_COUNT);
	before->reading.values[METRIC_CPU_SYSTEM].is_known = false;
	ASSERT(isnan(numbers_of_job(now, before, 1).cores));
	before->reading.has_mounts = false;
	ASSERT(isnan(numbers_of_job(now, before, 1).read));
}

TEST(of_a_step_sockets_are_told_but_not_files)
{
	struct step before = { .network = { .is_known = true } }, now = before;
	struct numbers n;

	now.values[METRIC_CPU_USER] = before.values[METRIC_CPU_USER] = (struct value){ 7 * S,
										       true };
	now.values[METRIC_CPU_SYSTEM] = (struct value){ 3 * S, true };
	before.values[METRIC_CPU_SYSTEM] = (struct value){ 0, true };
	*network_number_ref(&before.network, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES) = 101;
	*network_number_ref(&now.network, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES) = 1103;
	*network_number_ref(&now.network, SOCKET_UDP, METRIC_NETWORK_SENT_BYTES) = 4;
	n = numbers_of_step(&now, &before, 2);
	ASSERT(test_is_near(n.cores, 1.5));
	ASSERT(test_is_near(n.sent, 503));
	ASSERT(test_is_near(n.received, 0));
	ASSERT(isnan(n.read) && isnan(n.meta));
	before.network.is_known = false;
	ASSERT(isnan(numbers_of_step(&now, &before, 2).sent));
	ASSERT(test_is_near(numbers_of_step(&now, NULL, 2).sent, 553.5));
}

TEST(what_fell_is_not_known)
{
	_cleanup_(record_freep) struct record *before = new_job(70 * S, 5000),
					      *now = new_job(10 * S, 1109);
	struct numbers n = numbers_of_job(now, before, 1);

	ASSERT(isnan(n.cores) && isnan(n.read) && !n.mount_count);
}

TEST(blocked_is_time_that_was_lost_and_the_greatest_cause_is_named)
{
	_cleanup_(record_freep) struct record *before = record_new(), *now = record_new();
	struct numbers n;

	for (size_t c = 0; c < CAUSE_COUNT; c++) {
		reading_set(&before->reading, cause_metric((enum cause)c), S);
		reading_set(&now->reading, cause_metric((enum cause)c), S);
	}
	reading_set(&now->reading, METRIC_BLOCKED_SLEEP, 101 * S);
	reading_set(&now->reading, METRIC_BLOCKED_LOCK, 2 * S);
	reading_set(&now->reading, METRIC_BLOCKED_FILE_READ, 4 * S);
	n = numbers_of_job(now, before, 2);
	ASSERT(test_is_near(n.blocked, 2));
	ASSERT_EQ((uint64_t)n.cause, (uint64_t)CAUSE_FILE_READ);
	now->reading.values[METRIC_BLOCKED_SYNC].is_known = false;
	ASSERT(isnan(numbers_of_job(now, before, 2).blocked)); /* of a part the sum is not the sum
								*/
}

TEST(of_many_mounts_the_busiest_are_kept)
{
	_cleanup_(record_freep) struct record *now = record_new();
	struct numbers n;

	now->reading.has_mounts = true;
	for (unsigned int i = 0; i < 40; i++) {
		char name[16];

		snprintf(name, sizeof(name), "/m%u", i);
		reading_get_mount(&now->reading, ROW_MOUNT, name, "xfs")->ops[OP_OPEN].calls =
			i * 7 % 40;
	}
	n = numbers_of_job(now, NULL, 1);
	ASSERT_EQ((uint64_t)n.mount_count, (uint64_t)NUMBERS_MOUNTS);
	for (size_t i = 0; i < n.mount_count; i++)
		ASSERT(test_is_near(n.mounts[i].meta, 39 - (double)i));
	ASSERT(test_is_near(n.meta, 39 * 40 / 2));
}

TEST(what_went_through_sockets_is_told_by_the_second)
{
	_cleanup_(record_freep) struct record *now = new_job(S, 500), *before = new_job(S, 500);
	struct network *n = &now->reading.network;

	ASSERT(isnan(numbers_of_job(now, before, 2).sent));
	n->is_known = before->reading.network.is_known = true;
	*network_number_ref(n, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES) = 2003;
	*network_number_ref(n, SOCKET_UNIX_STREAM, METRIC_NETWORK_SENT_BYTES) = 1000;
	*network_number_ref(&before->reading.network, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES) = 3;
	ASSERT(test_is_near(numbers_of_job(now, before, 2).sent, 1500));
	ASSERT(test_is_near(numbers_of_job(now, before, 2).received, 0));
}

TEST(numbers_are_written_and_what_is_not_known_is_null)
{
	_cleanup_(record_freep) struct record *now = new_job(S, 500);
	struct numbers n = numbers_of_job(now, NULL, 0.5);
	struct made_text t = {};

	numbers_format(&n, made_text_document(&t, DOCUMENT_ONE_LINE));
	ASSERT_TEXT(
		made_text_end(&t),
		"{\"seconds\":0.5,\"cores\":2,\"waiting\":null,\"blocked\":null,\"read_bytes\":1000,"
		"\"write_bytes\":0,\"meta_calls\":100,\"received_bytes\":null,\"sent_bytes\":null,\"watts\":null,"
		"\"gpus\":null,\"gpus_held\":null,"
		"\"blocked_on\":null,"
		"\"mounts\":[{\"mount\":\"/a\",\"read_bytes\":1000,\"write_bytes\":0,\"meta_calls\":100}]}\n");
}

/* Eleven mounts, a pipe, and what kernel threads did, which is no job's. */
static void make_busy(struct snapshot *s, uint64_t round)
{
	made_job(s, "slurm", "7");
	s->refs = 1;
	s->has_mounts = s->has_seconds = true;
	for (uint32_t i = 0; i < 13; i++) {
		const enum row_kind kind = i == 11 ? ROW_PIPE : i == 12 ? ROW_KERNEL : ROW_MOUNT;
		const struct op_counts moved = { 3 + i, (i + 1) * (1009 + 17 * round), 1, 5, 0 };
		char name[16];

		snprintf(name, sizeof(name), "/m%u", i);
		made_mount(s, kind, kind == ROW_MOUNT ? name : row_kind_name(kind),
			   kind == ROW_MOUNT ? "xfs" : NULL);
		made_row(s, i, OP_READ, INTERFACE_CALL, moved);
		made_row(s, i, OP_READ, INTERFACE_IO_URING, moved);
		made_row(s, i, OP_READ, INTERFACE_MAPPING, moved);
		if (i % 3)
			made_row(s, i, OP_WRITE, INTERFACE_SENDFILE, moved);
		made_row(s, i, OP_OPEN, INTERFACE_CALL, (struct op_counts){ .calls = i * round });
		made_row(s, i, OP_STAT, INTERFACE_CALL, (struct op_counts){ .calls = 7 * round });
	}
}

/* As it comes from the agent. */
static struct record *arrive(const struct snapshot *s, bool in_sums)
{
	_cleanup_(record_freep) struct record *made = NULL;
	_cleanup_free_ char *json = NULL;
	struct record *back;

	ASSERT_OK(job_record_make(s, &s->jobs[0], &(struct job_record_node){}, in_sums, &made));
	json = made_json(made);
	back = made_again(json, NULL);
	ASSERT(back);
	return back;
}

TEST(sums_say_of_files_what_rows_do)
{
	_cleanup_(made_snapshot_clear) struct snapshot then = {}, now = {};
	struct record *before[2], *after[2]; /* of rows, of sums */
	uint64_t total;

	make_busy(&then, 3);
	make_busy(&now, 11);
	for (int in_sums = 0; in_sums < 2; in_sums++) {
		before[in_sums] = arrive(&then, in_sums);
		after[in_sums] = arrive(&now, in_sums);
	}
	for (int i = 1; i < 4; i++) { /* the first look may be of the one, the next of the other */
		struct numbers n = numbers_of_job(after[0], before[0], 2),
			       same = numbers_of_job(after[i & 1], before[i >> 1], 2);

		ASSERT(n.read > 0 && n.write > 0 && n.meta > 0);
		ASSERT(test_is_near(n.read, same.read) && test_is_near(n.write, same.write) &&
		       test_is_near(n.meta, same.meta));
		ASSERT_EQ(n.mount_count, (size_t)NUMBERS_MOUNTS);
		ASSERT_EQ(same.mount_count, (size_t)NUMBERS_MOUNTS);
		for (size_t m = 0; m < n.mount_count; m++) {
			ASSERT_STREQ(n.mounts[m].mount, same.mounts[m].mount);
			ASSERT(test_is_near(n.mounts[m].read, same.mounts[m].read) &&
			       test_is_near(n.mounts[m].write, same.mounts[m].write) &&
			       test_is_near(n.mounts[m].meta, same.mounts[m].meta));
		}
	}
	ASSERT(!after[1]->reading.has_mounts);
	ASSERT(record_total(after[0], METRIC_READ_CALLS, &total));
	ASSERT(!record_total(after[1], METRIC_READ_CALLS, &total)); /* not known, and not zero */
	for (int in_sums = 0; in_sums < 2; in_sums++) {
		record_free(before[in_sums]);
		record_free(after[in_sums]);
	}
}

TEST(where_nobody_looked_at_files_there_are_no_sums_either)
{
	_cleanup_(made_snapshot_clear) struct snapshot now = {};
	_cleanup_(record_freep) struct record *record = NULL;

	make_busy(&now, 3);
	now.has_mounts = false;
	now.jobs[0].row_count = 0;
	record = arrive(&now, true);
	ASSERT(isnan(numbers_of_job(record, NULL, 2).read));
}

TEST(idle_is_who_does_nothing_and_nobody_of_whom_that_is_not_known)
{
	struct numbers n = numbers_none();

	ASSERT(!numbers_are_idle(&n));
	n.cores = 0.04;
	n.memory = 1e12;
	ASSERT(numbers_are_idle(&n));
	n.received = 0.4;
	ASSERT(numbers_are_idle(&n));
	n.received = 1;
	ASSERT(!numbers_are_idle(&n));
	n.received = 0;
	n.blocked = 0.05;
	ASSERT(!numbers_are_idle(&n));
	n.blocked = NAN;
	n.cores = 0.05;
	ASSERT(!numbers_are_idle(&n));
}
