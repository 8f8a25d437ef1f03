/* SPDX-License-Identifier: MIT */
#include "model/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/cause.h"
#include "model/section.h"
#include "model/sections.h"
#include "basic/cleanup.h"
#include "made.h"
#include "codec/records.h"
#include "test.h"

#define _cleanup_record_ _cleanup_(record_freep)

TEST(lists_of_strings_are_bounded)
{
	struct strings list = {};

	for (int i = 0; i < STRINGS_MAX; i++)
		ASSERT_OK(strings_add(&list, "%d", i));
	ASSERT_ERR(strings_add(&list, "one more"), -ENOSPC);
	ASSERT(strings_contain(&list, "17"));
	ASSERT(!strings_contain(&list, "one more"));
	strings_clear(&list);
	ASSERT_EQ(list.count, 0);
}

TEST(where_notes_are_full_the_time_between_is_not_noted)
{
	_cleanup_record_ struct record *one = record_new(), *merged = record_new();
	const struct record *records[] = { one };

	merged->time.elapsed_ns = UINT64_C(100000000000);
	ASSERT_OK(record_note_between(records, 1, merged));
	ASSERT_EQ(merged->coverage.notes.count, 1);
	for (int i = 1; i < STRINGS_MAX; i++)
		ASSERT_OK(strings_add(&merged->coverage.notes, "%d", i));
	ASSERT_OK(record_note_between(records, 1, merged));
	ASSERT_EQ(merged->coverage.notes.count, STRINGS_MAX);
}

TEST(a_new_record_has_nothing)
{
	_cleanup_record_ struct record *r = record_new();

	ASSERT_EQ(r->job.exit_code, -1);
	ASSERT_EQ(r->job.rank, -1);
	ASSERT_EQ(r->job.uid, -1);
	ASSERT_EQ(r->merged_records, 1U);
	ASSERT(record_free(NULL) == NULL);
}

TEST(an_endless_command_is_cut)
{
	_cleanup_record_ struct record *r = record_new();
	char **argv = calloc(COMMAND_ARGUMENTS_MAX + 10, sizeof(*argv));
	char *large = calloc(1, COMMAND_BYTES_MAX);
	size_t count = 0;

	for (int i = 0; i < COMMAND_ARGUMENTS_MAX + 9; i++)
		argv[i] = "x";
	ASSERT_OK(record_set_command(r, argv));
	while (r->job.command[count])
		count++;
	ASSERT_EQ(count, COMMAND_ARGUMENTS_MAX);

	memset(large, 'x', COMMAND_BYTES_MAX - 1);
	argv[1] = large;
	ASSERT_OK(record_set_command(r, argv));
	ASSERT_STREQ(r->job.command[1], large);
	ASSERT(r->job.command[2] == NULL);
	free(argv);
	free(large);
}

TEST(the_same_command_is_argv_and_directory)
{
	_cleanup_record_ struct record *a = made_record(0), *b = made_record(1), *c = record_new();
	char *other[] = { "./train.sh", "--epochs", NULL };

	ASSERT(record_is_same_command(a, b));
	ASSERT(!record_is_same_command(c, c)); /* two that say nothing are not the same */
	ASSERT_OK(record_set_command(b, other));
	ASSERT(!record_is_same_command(a, b));
	free(a->job.dir);
	a->job.dir = strdup("/elsewhere");
	ASSERT_OK(record_set_command(b, a->job.command));
	ASSERT(!record_is_same_command(a, b));
}

TEST(the_accounting_compare_the_tasks_counters_with_the_rows)
{
	_cleanup_record_ struct record *r = made_record(0);

	ASSERT(r->coverage.read_accounting.is_known);
	ASSERT_EQ(r->coverage.read_accounting.tasks_bytes, r->coverage.read_accounting.rows_bytes);
	ASSERT_EQ(r->coverage.read_accounting.rows_bytes, 8160437862 + 2048 + 4096);

	r->reading.mounts[0].kind = ROW_KERNEL; /* what kernel threads do is not in a task's
						   counters */
	record_close_accounting(r);
	ASSERT_EQ(r->coverage.read_accounting.rows_bytes, 2048 + 4096);

	r->reading.has_mounts = false;
	record_close_accounting(r);
	ASSERT(!r->coverage.read_accounting.is_known);
}

TEST(the_accounting_are_over_what_the_tasks_counters_cover)
{
	_cleanup_record_ struct record *r = made_record(0);
	struct mount_row *row = &r->reading.mounts[0];
	const struct accounting *accounting = &r->coverage.read_accounting;

	row->interfaces[INTERFACE_IO_URING][OP_READ].bytes = 1000;
	row->interfaces[INTERFACE_LIBAIO][OP_READ].bytes = 200;
	row->interfaces[INTERFACE_SPLICE][OP_READ].bytes = 30;
	row->interfaces[INTERFACE_MAPPING][OP_READ].bytes = 1 << 20; /* no part of the reads */
	record_close_accounting(r);
	ASSERT_EQ(accounting->rows_bytes, 8160437862 + 2048 + 4096 - 1230);
	ASSERT_EQ(accounting_difference(accounting), 1230);
	ASSERT_EQ(accounting->twice_bytes, 0);
}

TEST(copies_on_overlay_are_expected_twice)
{
	_cleanup_record_ struct record *r = made_record(0), *merged = NULL;
	const struct record *records[] = { r, r };
	struct mount_row *row = &r->reading.mounts[0];

	row->interfaces[INTERFACE_COPY_FILE_RANGE][OP_READ].bytes = 4095;
	row->interfaces[INTERFACE_COPY_FILE_RANGE][OP_WRITE].bytes = row->ops[OP_WRITE].bytes = 503;
	record_close_accounting(r);
	ASSERT_EQ(r->coverage.read_accounting.twice_bytes, 0); /* not on lustre */

	free(row->fstype);
	row->fstype = strdup("overlay");
	r->reading.values[METRIC_IO_CHARS_READ].number += 4095;
	r->reading.values[METRIC_IO_CHARS_WRITTEN].number += 2 * 503;
	record_close_accounting(r);
	ASSERT_EQ(r->coverage.read_accounting.twice_bytes, 4095);
	ASSERT_EQ(r->coverage.write_accounting.twice_bytes, 503);
	ASSERT_EQ(accounting_difference(&r->coverage.read_accounting), 0);
	ASSERT_EQ(accounting_difference(&r->coverage.write_accounting), 0);

	ASSERT_OK(record_merge(records, 2, &merged));
	ASSERT_EQ(merged->coverage.write_accounting.twice_bytes, 2 * 503);
	ASSERT_EQ(accounting_difference(&merged->coverage.write_accounting), 0);
}

/* Machines of one name that run at the same time have their cores each; a node that booted in
 * between is one. */
TEST(machines_of_one_name_are_several_nodes)
{
	_cleanup_record_ struct record *a = made_record(0), *b = made_record(1);
	const struct record *const records[] = { a, b };
	const struct {
		const char *boot_a, *boot_b;
		uint64_t later_ns; /* than the end of the first one */
		unsigned int nodes;
	} rows[] = {
		{ "1", "1", 0, 1 },
		{ "1", "2", 0, 2 },
		{ "1", NULL, 0, 1 },
		{ "1", "2", 1, 1 },
	};

	ASSERT_STREQ(a->node, b->node);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_record_ struct record *merged = NULL;

		a->boot_id = rows[i].boot_a ? strdup(rows[i].boot_a) : NULL;
		b->boot_id = rows[i].boot_b ? strdup(rows[i].boot_b) : NULL;
		if (rows[i].later_ns) {
			b->time.start_ns = a->time.end_ns + rows[i].later_ns;
			b->time.end_ns = b->time.start_ns + b->time.elapsed_ns;
		}
		ASSERT_OK(record_merge(records, 2, &merged));
		ASSERT_EQ(merged->merged_nodes, rows[i].nodes);
		free(a->boot_id);
		free(b->boot_id);
		a->boot_id = b->boot_id = NULL;
	}
}

TEST(totals_leave_kernel_threads_out_and_know_metadata)
{
	_cleanup_record_ struct record *r = made_record(0);
	uint64_t total = 0;

	r->reading.mounts[1].interfaces[INTERFACE_MAPPING][OP_WRITE].bytes = 4096;
	ASSERT(record_total(r, METRIC_MAPPED_WRITE_BYTES, &total));
	ASSERT_EQ(total, 8192 + 4096);
	ASSERT(record_total(r, METRIC_META_CALLS, &total));
	ASSERT_EQ(total, 3 * 17);
	ASSERT(record_total(r, METRIC_META_NOT_FOUND, &total));
	ASSERT_EQ(total, 3);

	r->reading.mounts[0].kind = ROW_KERNEL;
	r->reading.mounts[0].lacks_not_found = true;
	ASSERT(record_total(r, METRIC_META_NOT_FOUND, &total));
	ASSERT_EQ(total, 2);
	ASSERT(record_total(r, METRIC_MAPPED_WRITE_BYTES, &total));
	ASSERT_EQ(total, 4096);
	r->reading.mounts[1].lacks_not_found = true;
	ASSERT(!record_total(r, METRIC_META_NOT_FOUND, &total));
}

TEST(utilization_is_unknown_without_its_parts)
{
	_cleanup_record_ struct record *r = made_record(0);
	uint64_t share = 0, cores = 0;

	ASSERT(record_utilization(r, &share) && record_cores_busy(r, &cores));
	ASSERT_EQ(share, 10485); /* 281 s of 2 x 134 s: more than was allowed, and so it is said */
	ASSERT_EQ(cores, 2097);
	r->reading.values[METRIC_CPU_ALLOCATED].is_known = false;
	ASSERT(!record_utilization(r, &share));
	r->time.elapsed_ns = 0;
	ASSERT(!record_cores_busy(r, &cores));
}

TEST(more_cpu_time_than_there_was_is_noted)
{
	_cleanup_record_ struct record *r = made_record(0);
	size_t before = r->coverage.notes.count;

	ASSERT_OK(record_note_cpu_excess(r));
	ASSERT_EQ(r->coverage.notes.count, before + 1);
	ASSERT_CONTAINS(r->coverage.notes.items[before],
			"CPU time is 105 % of what the cores could give");
	r->time.elapsed_ns = r->time.elapsed_ns * 105 / 100; /* the same, but for what two clocks
								differ in */
	ASSERT_OK(record_note_cpu_excess(r));
	r->reading.values[METRIC_CPU_ALLOCATED].number = 0;
	ASSERT_OK(record_note_cpu_excess(r));
	r->reading.values[METRIC_CPU_ALLOCATED].is_known = false;
	ASSERT_OK(record_note_cpu_excess(r));
	ASSERT_EQ(r->coverage.notes.count, before + 1);
}

static struct record *merge(int count)
{
	struct record *records[8] = {}, *merged = NULL;

	for (int i = 0; i < count; i++)
		records[i] = made_record(i);
	ASSERT_OK(record_merge((const struct record *const *)records, (size_t)count, &merged));
	for (int i = 0; i < count; i++)
		record_free(records[i]);
	return merged;
}

TEST(ranks_of_one_node_share_its_memory_and_add_their_cores)
{
	_cleanup_record_ struct record *r = merge(2);

	ASSERT_EQ(r->merged_records, 2U);
	ASSERT_EQ(r->merged_nodes, 1U);
	ASSERT_STREQ(r->node, "made-node0");
	ASSERT_STREQ(r->job.cpus_allowed, "0-3");
	ASSERT_EQ(r->reading.values[METRIC_CPU_ALLOCATED].number, 4000);
	ASSERT_EQ(r->reading.values[METRIC_MEMORY_LIMIT].number, 17179869184);
	ASSERT_EQ(r->reading.values[METRIC_MEMORY_PEAK].number, 3328599655);
	ASSERT_EQ(r->reading.values[METRIC_CPU_USER].number, 380000000002);
	ASSERT_EQ(r->reading.mounts[0].ops[OP_READ].calls, 3800014);
}

static void set_text(char **to, const char *text)
{
	free(*to);
	*to = text ? strdup(text) : NULL;
}

TEST(lists_of_cpus_are_one_list_within_a_node_and_none_beyond)
{
	_cleanup_record_ struct record *a = made_record(0), *b = made_record(1), *merged = NULL;
	const struct record *records[] = { a, b };

	set_text(&a->job.cpus_used, "0");
	set_text(&b->job.cpus_used, "2-3");
	set_text(&a->job.numa_used, "0");
	set_text(&b->job.numa_used, "1");
	set_text(&a->job.numa_allowed, "0-1");
	ASSERT_OK(record_merge(records, 2, &merged));
	ASSERT_STREQ(merged->job.cpus_used, "0,2-3");
	ASSERT_STREQ(merged->job.numa_used, "0-1");
	ASSERT(merged->job.numa_allowed == NULL); /* one of them does not say */

	merged = record_free(merged);
	set_text(&b->node, "made-node1");
	set_text(&b->job.cpus_used, "0");
	ASSERT_OK(record_merge(records, 2, &merged));
	ASSERT(merged->job.cpus_used == NULL && merged->job.numa_used == NULL);
}

TEST(nodes_add_what_they_were_granted)
{
	_cleanup_record_ struct record *r = merge(5);

	ASSERT_EQ(r->merged_nodes, 3U);
	ASSERT(r->node == NULL);
	ASSERT(r->job.cpus_allowed == NULL);
	ASSERT_EQ(r->reading.values[METRIC_CPU_ALLOCATED].number, 10000);
	ASSERT_EQ(r->reading.values[METRIC_MEMORY_LIMIT].number, 3 * UINT64_C(17179869184));
}

TEST(merged_records_can_be_merged_again)
{
	_cleanup_record_ struct record *five = merge(5), *two = merge(2), *all = NULL;
	const struct record *records[] = { five, two };

	ASSERT_OK(record_merge(records, 2, &all));
	ASSERT_EQ(all->merged_records, 7U);
	ASSERT_EQ(all->merged_nodes, 4U);
	ASSERT_EQ(all->reading.values[METRIC_CPU_ALLOCATED].number, 14000);
}

TEST(ranks_that_may_use_the_same_cores_do_not_count_them_twice)
{
	_cleanup_record_ struct record *a = made_record(0), *b = made_record(0), *merged = NULL;
	const struct record *records[] = { a, b };

	ASSERT_OK(record_merge(records, 2, &merged));
	ASSERT_EQ(merged->reading.values[METRIC_CPU_ALLOCATED].number, 2000);

	merged = record_free(merged);
	free(b->job.cpus_allowed);
	b->job.cpus_allowed = NULL; /* now nobody knows */
	ASSERT_OK(record_merge(records, 2, &merged));
	ASSERT(!merged->reading.values[METRIC_CPU_ALLOCATED].is_known);
	ASSERT(merged->job.cpus_allowed == NULL);
}

TEST(what_records_do_not_share_is_absent)
{
	_cleanup_record_ struct record *a = made_record(0), *b = made_record(1), *merged = NULL;
	const struct record *records[] = { a, b };

	b->job.exit_code = 3;
	b->coverage.read_accounting.is_known = false;
	b->is_final = false;
	ASSERT_OK(record_merge(records, 2, &merged));
	ASSERT_EQ(merged->job.exit_code, -1);
	ASSERT_EQ(merged->job.rank, -1);
	ASSERT_EQ(merged->job.uid, 1000);
	ASSERT_STREQ(merged->job.user, "made-user");
	ASSERT_STREQ(merged->job.command[2], "3");
	ASSERT(!merged->is_final);
	ASSERT(!merged->coverage.read_accounting.is_known);
	ASSERT(merged->coverage.write_accounting.is_known);
	ASSERT_EQ(merged->coverage.tiers.count, 1); /* T1 and T2 were not on in both */
	ASSERT_EQ(merged->coverage.missing.count, 1);
	ASSERT_EQ(merged->survivor_count, 2);
}

TEST(time_goes_from_the_first_start_to_the_last_end)
{
	_cleanup_record_ struct record *r = merge(3);

	ASSERT_EQ(r->time.start_ns, 1770091506123456789);
	ASSERT_EQ(r->time.end_ns, 1770091506123456791 + 134000000002);
	ASSERT_EQ(r->time.elapsed_ns, r->time.end_ns - r->time.start_ns);
	ASSERT_EQ(r->time.measured_from_ns, 1770091506123456791);
}

TEST(one_record_merged_says_the_same)
{
	_cleanup_record_ struct record *a = made_record(3), *merged = NULL;
	const struct record *records[] = { a };
	_cleanup_free_ char *before = NULL;

	ASSERT_OK(record_merge(records, 1, &merged));
	before = made_json(a);
	ASSERT_TEXT(made_json(merged), before);
	ASSERT_ERR(record_merge(records, 0, &merged), -EINVAL);
}

TEST(blocked_time_is_the_sum_of_its_causes_and_unknown_without_one)
{
	_cleanup_record_ struct record *r = made_record(0);
	uint64_t ns = 0;

	ASSERT(record_blocked_time(r, &ns));
	ASSERT_EQ(ns, UINT64_C(1000000007) * (CAUSE_COUNT * (CAUSE_COUNT - 1) / 2));
	r->reading.values[cause_metric(CAUSE_LOCK)].is_known = false;
	ASSERT(!record_blocked_time(r, &ns));
}

TEST(balance_is_the_mean_by_the_greatest)
{
	const uint64_t times[] = { 10, 20, 30, 40 }, nothing[] = { 0, 0 };
	struct balance e = load_balance_of(times, 4);

	ASSERT(e.count.is_known && e.balance.is_known);
	ASSERT_EQ(e.count.number, 4);
	ASSERT_EQ(e.balance.number, 6250);
	ASSERT(!load_balance_of(nothing, 2).count.is_known);
	ASSERT(!load_balance_of(times, 0).balance.is_known);
}

/* Times of ranks, and what each of them says of itself. */
static struct record *merge_ranks(uint64_t first_ns, uint64_t second_ns, const char *second_node)
{
	struct record *a = made_record(0), *b = made_record(1), *merged = NULL;
	const struct record *records[] = { a, b };

	reading_set(&a->reading, METRIC_CPU_USER, first_ns);
	reading_set(&b->reading, METRIC_CPU_USER, second_ns);
	reading_set(&a->reading, METRIC_CPU_SYSTEM, 0);
	reading_set(&b->reading, METRIC_CPU_SYSTEM, 0);
	a->cores = (struct balance){ { 2, true }, { 10000, true } };
	b->cores = (struct balance){ { 4, true }, { 5000, true } };
	free(b->node);
	b->node = strdup(second_node);
	ASSERT_OK(record_merge(records, 2, &merged));
	record_free(a);
	record_free(b);
	return merged;
}

TEST(a_rank_that_spins_while_it_waits_does_less)
{
	_cleanup_record_ struct record *slow = record_new(), *waiting = record_new(), *both = NULL,
				       *blind = NULL;
	const struct record *records[] = { slow, waiting };

	for (int i = 0; i < 2; i++) {
		struct record *r = i ? waiting : slow;

		r->job.rank = i;
		r->node = strdup("made-node0");
		reading_set(&r->reading, METRIC_CPU_USER, 7000000000);
		reading_set(&r->reading, METRIC_CPU_SYSTEM, 1000000000);
		reading_set(&r->reading, METRIC_CPU_POLLING, i ? 4000000000 : 0);
	}
	ASSERT_OK(record_merge(records, 2, &both));
	ASSERT_EQ(both->ranks.count.number, 2);
	ASSERT_EQ(both->ranks.balance.number, 7500); /* 6 s of 8 s */
	slow->reading.values[METRIC_CPU_POLLING].is_known = false; /* then of none */
	ASSERT_OK(record_merge(records, 2, &blind));
	ASSERT_EQ(blind->ranks.balance.number, LOAD_BALANCE_ONE);
}

TEST(of_a_managers_ranks_those_of_the_step_that_did_most_are_told)
{
	_cleanup_record_ struct record *first = record_new(), *second = record_new(), *both = NULL;
	const struct record *records[] = { first, second };
	static const char *const steps[] = { "batch", "0", "1" };

	for (int i = 0; i < 2; i++) {
		struct record *r = i ? second : first;

		r->node = strdup(i ? "made-node1" : "made-node0");
		reading_set(&r->reading, METRIC_CPU_USER, 90000000000);
		reading_set(&r->reading, METRIC_CPU_SYSTEM, 0);
		r->ranks = (struct balance){ { 2, true }, { LOAD_BALANCE_ONE, true } };
		for (size_t k = 0; k < 3; k++) {
			struct step *step = steps_add(&r->steps, steps[k]);

			step->values[METRIC_CPU_USER] = (struct value){
				k == 0 ? 70000000000 : k * (i ? 4 : 6) * 1000000000, true
			};
			step->values[METRIC_CPU_SYSTEM] = (struct value){ 0, true };
		}
	}
	ASSERT_OK(record_merge(records, 2, &both));
	ASSERT_EQ(both->ranks.count.number, 4);
	ASSERT_EQ(both->ranks.balance.number, 8333); /* 6, 6, 4 and 4 s: 5 s of 6 s */
}

static struct record *merge_steps(const char *first, const char *second)
{
	_cleanup_record_ struct record *a = record_new(), *b = record_new(), *both = NULL;
	struct record *all = NULL;

	for (uint64_t i = 0; i < 2; i++) {
		ASSERT_OK(rank_times_add(section_of(a, &rank_work_section), "made-node0", first, i,
					 1000000000000));
		ASSERT_OK(rank_times_add(section_of(b, &rank_work_section), "made-node1", second, i,
					 500000000000));
	}
	ASSERT_OK(record_merge((const struct record *const[]){ a, b }, 2, &both));
	ASSERT_OK(record_merge((const struct record *const[]){ both, b }, 2, &all));
	return all;
}

TEST(ranks_of_two_steps_are_not_joined)
{
	_cleanup_record_ struct record *two = merge_steps("0", "1"), *one = merge_steps("1", "1"),
				       *none = merge_steps("", "");

	ASSERT(!rank_times_of(two)->is_known && rank_times_of(two)->count == 0);
	ASSERT_EQ(rank_times_of(one)->count, (size_t)6);
	ASSERT_STREQ(rank_times_of(one)->items[5].step, "1");
	ASSERT_EQ(rank_times_of(none)->count, (size_t)6);
}

TEST(records_that_are_a_rank_each_tell_how_even_the_ranks_are)
{
	_cleanup_record_ struct record *r = merge_ranks(6000000000, 2000000000, "made-node0");

	ASSERT_EQ(r->ranks.count.number, 2);
	ASSERT_EQ(r->ranks.balance.number, 6666); /* 4 s of 6 s */
	ASSERT(!r->cores.count.is_known); /* of one node: nobody knows which were the same */
}

TEST(of_several_records_the_threads_of_the_busiest_process_are_told)
{
	_cleanup_record_ struct record *first = record_new(), *second = record_new(), *both = NULL,
				       *blind = NULL;
	const struct record *records[] = { first, second };

	first->threads = threads_of_sum(4, 3000000000, 1000000000);
	second->threads = threads_of_sum(8, 4000000000, 1000000000);
	ASSERT_OK(record_merge(records, 2, &both));
	ASSERT_EQ(both->threads.count.number, 8);
	ASSERT_EQ(both->threads.balance.number, 5000);
	ASSERT_EQ(both->threads.cpu_ns.number, 4000000000);
	second->threads = (struct threads){}; /* it may have been busier */
	ASSERT_OK(record_merge(records, 2, &blind));
	ASSERT(!blind->threads.count.is_known);
}

TEST(cores_of_nodes_are_merged_by_their_greatest)
{
	_cleanup_record_ struct record *r = merge_ranks(6000000000, 2000000000, "made-node1");

	ASSERT_EQ(r->cores.count.number, 6);
	ASSERT_EQ(r->cores.balance.number, 4444); /* 8 s by 6; the one that did most did 3 s */
}

TEST(frequency_and_temperature_come_back_and_merge_by_samples)
{
	_cleanup_record_ struct record *first = made_record(0), *second = made_record(1),
				       *both = NULL;
	_cleanup_(records_clear) struct records parsed = {};
	const struct record *back, *records[] = { first, second };
	_cleanup_free_ char *text = NULL;

	first->thermal = (struct thermal_samples){ { 3, true },
						   { 2900000000, true },
						   { 1300000000, true },
						   { 61003, true },
						   { 73009, true },
						   { 5, true },
						   {} };
	second->thermal = first->thermal;
	second->thermal.samples.number = 1;
	second->thermal.temperature.number = 65003;
	text = made_json(first);
	ASSERT_CONTAINS(text, "\"temperature_celsius\": 61.003");
	ASSERT_CONTAINS(text, "\"frequency_min_hertz\": 1300000000");
	ASSERT_CONTAINS(text, "\"package_throttles\": null");
	ASSERT_OK(records_parse(text, strlen(text), "text", &parsed, NULL));
	back = parsed.items[0];
	ASSERT(memcmp(&back->thermal, &first->thermal, sizeof(back->thermal)) == 0);
	ASSERT_OK(record_merge(records, 2, &both));
	ASSERT_EQ(both->thermal.samples.number, 4);
	ASSERT_EQ(both->thermal.temperature.number, 62003);
}
