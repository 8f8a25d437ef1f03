/* SPDX-License-Identifier: MIT */
#include "counters/task_sums.h"

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "test.h"
#include "bpf/traffic.h"

#define NOW UINT64_C(100000000000)

static const struct cgroup_tasks *find(const struct sums *t, uint64_t cgroup)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->items[i].cgroup == cgroup)
			return &t->items[i];
	}
	return NULL;
}

static struct task_record task(uint64_t cgroup, uint32_t pid, uint32_t tgid, uint64_t exec_ns)
{
	return (struct task_record){ .cgroup = cgroup,
				     .pid = pid,
				     .tgid = tgid,
				     .exec_ns = exec_ns,
				     .counters = { .user_ns = 3, .system_ns = 1, .wchar = pid } };
}

TEST(what_was_freed_is_summed_over_cpus)
{
	_cleanup_(task_sums_clear) struct sums t = {};
	const struct task_totals first = { .ended = { .rchar = 5 },
					   .exits = 3,
					   .frees = 1,
					   .uid = 1000,
					   .crashed = 3,
					   .process_peak_pages = 7 };
	const struct task_totals second = { .ended = { .rchar = 11 },
					    .exits = 0,
					    .frees = 2,
					    .uid = 999,
					    .crashed = 5,
					    .process_peak_pages = 5 };

	ASSERT_OK(task_sums_add_totals(&t, 42, &first));
	ASSERT_OK(task_sums_add_totals(&t, 42, &second));
	task_sums_settle(&t);
	ASSERT_EQ(t.count, 1u);
	ASSERT_EQ(t.items[0].counters.rchar, 16u);
	ASSERT_EQ(t.items[0].ended, 3u);
	ASSERT_EQ(t.items[0].crashed, 8u);
	ASSERT_EQ(t.items[0].unsettled, 0u);
	ASSERT_EQ(t.items[0].process_peak_pages, 7u);
	ASSERT_EQ(t.items[0].uid, 999u);
}

TEST(times_are_summed_over_cpus_and_make_a_cgroup_known)
{
	_cleanup_(task_sums_clear) struct sums t = {};
	const struct task_times first = { .on = 5, .blocked = { .file_read = 7, .other = 1 } };
	const struct task_times second = { .on = 11, .queued = 2, .blocked = { .other = 3 } };

	ASSERT_OK(task_sums_add_times(&t, 42, &first));
	ASSERT_OK(task_sums_add_times(&t, 42, &second));
	task_sums_settle(&t);
	ASSERT_EQ(t.count, 1u);
	ASSERT_EQ(t.items[0].times.on, 16u);
	ASSERT_EQ(t.items[0].times.queued, 2u);
	ASSERT_EQ(t.items[0].times.blocked.file_read, 7u);
	ASSERT_EQ(t.items[0].times.blocked.other, 4u);
	ASSERT_EQ(t.items[0].ended, 0u);
	ASSERT_EQ(t.items[0].uid, UINT32_MAX);
}

TEST(traffic_is_summed_over_cpus_and_kinds_stay_apart)
{
	struct sums t = {};
	const struct traffic_counts first = { .sent_bytes = 5,
					      .received_errors = 7,
					      .rtt_samples = 11 };

	ASSERT_OK(task_sums_add_traffic(&t, 42, TRAFFIC_TCP, &first));
	ASSERT_OK(task_sums_add_traffic(&t, 42, TRAFFIC_TCP, &first));
	ASSERT_OK(task_sums_add_traffic(&t, 42, TRAFFIC_UDP, &first));
	task_sums_settle(&t);
	ASSERT_EQ(t.count, 1u);
	ASSERT_EQ(network_number(&t.items[0].network, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES), 10u);
	ASSERT_EQ(network_number(&t.items[0].network, SOCKET_TCP, METRIC_NETWORK_RECEIVED_ERRORS),
		  14u);
	ASSERT_EQ(network_number(&t.items[0].network, SOCKET_TCP, METRIC_NETWORK_ROUND_TRIPS), 22u);
	ASSERT_EQ(network_number(&t.items[0].network, SOCKET_UDP, METRIC_NETWORK_SENT_BYTES), 5u);
	task_sums_clear(&t);
}

TEST(polls_are_summed_over_cpus)
{
	_cleanup_(task_sums_clear) struct sums t = {};
	const struct polls first = { .polls = 5, .yields = 7, .ns = 11 },
			   second = { .polls = 13, .ns = 17 };

	ASSERT_OK(task_sums_add_polls(&t, 42, &first));
	ASSERT_OK(task_sums_add_polls(&t, 42, &second));
	task_sums_settle(&t);
	ASSERT_EQ(t.count, 1u);
	ASSERT_EQ(t.items[0].polls.polls, 18u);
	ASSERT_EQ(t.items[0].polls.yields, 7u);
	ASSERT_EQ(t.items[0].polls.ns, 28u);
	ASSERT_EQ(t.items[0].uid, UINT32_MAX);
}

TEST(ends_that_were_before_us_leave_nothing_unsettled)
{
	_cleanup_(task_sums_clear) struct sums t = {};
	const struct task_totals totals = { .exits = 1, .frees = 4 };

	ASSERT_OK(task_sums_add_totals(&t, 42, &totals));
	task_sums_settle(&t);
	ASSERT_EQ(t.items[0].unsettled, 0u);
	ASSERT_EQ(t.items[0].uid, UINT32_MAX);
}

TEST(cgroups_are_told_apart_and_sorted_however_many)
{
	_cleanup_(task_sums_clear) struct sums t = {};

	for (uint64_t i = 0; i < 10007; i++) {
		const struct task_totals totals = { .ended = { .syscr = i },
						    .frees = 1,
						    .exits = 2 };

		ASSERT_OK(task_sums_add_totals(&t, (i * 7919) % 10007 << 32 | 1, &totals));
		ASSERT_OK(task_sums_add_totals(&t, (i * 7919) % 10007 << 32 | 1, &totals));
	}
	task_sums_settle(&t);
	ASSERT_EQ(t.count, 10007u);
	for (size_t i = 0; i < t.count; i++) {
		ASSERT_EQ(t.items[i].cgroup, (uint64_t)i << 32 | 1);
		ASSERT_EQ(t.items[i].ended, 2u);
		ASSERT_EQ(t.items[i].unsettled, 2u);
	}
}

TEST(time_of_a_process_stands_with_its_main_thread_wherever_its_threads_are)
{
	_cleanup_(task_sums_clear) struct sums t = {};
	struct task_record live[] = { task(2, 12, 10, 600), task(1, 10, 10, 200) };

	ASSERT_OK(task_sums_add_tasks(&t, live, ARRAY_SIZE(live), NULL, 0, NOW));
	task_sums_settle(&t);
	ASSERT_EQ(find(&t, 1)->counters.user_ns, 600u); /* by the ticks, 6 to 2 of 800 */
	ASSERT_EQ(find(&t, 1)->counters.system_ns, 200u);
	ASSERT_EQ(find(&t, 2)->counters.user_ns + find(&t, 2)->counters.system_ns, 0u);
	ASSERT_EQ(find(&t, 1)->counters.wchar, 10u);
	ASSERT_EQ(find(&t, 2)->counters.wchar, 12u);
	ASSERT_EQ(find(&t, 1)->live, 1u);
}

static void check_threads(const struct sums *t, uint64_t count, uint64_t sum_ns,
			  uint64_t greatest_ns)
{
	const struct busiest_threads *busiest = &find(t, 1)->busiest;

	ASSERT_EQ(busiest->count, count);
	ASSERT_EQ(busiest->sum_ns, sum_ns);
	ASSERT_EQ(busiest->greatest_ns, greatest_ns);
}

#define MS UINT64_C(1000000)

/* The last one has ended, and is in what the kernel side says of the process. */
TEST(threads_that_work_are_counted_with_those_that_ended)
{
	_cleanup_(task_sums_clear) struct sums t = {};
	struct task_record live[] = { task(1, 0, 10, 0), task(1, 10, 10, 700 * MS),
				      task(1, 11, 10, 30 * MS), task(1, 12, 10, 90 * MS),
				      task(1, 13, 10, 900 * MS) };
	const struct leaving_task leaving = { .cgroup = 1, .pid = 13, .ended_ns = NOW };

	live[0].ended = (struct thread_levels){};
	thread_levels_join(&live[0].ended, 900 * MS, 0);
	thread_levels_join(&live[0].ended, 400 * MS, 0);
	ASSERT_OK(task_sums_add_tasks(&t, live, ARRAY_SIZE(live), &leaving, 1, NOW));
	check_threads(&t, 4, (900 + 400 + 700 + 90) * MS, 900 * MS); /* 90 are a tenth, and 30 are
									not */
	ASSERT_EQ(find(&t, 1)->live, 3u);
}

TEST(ended_threads_of_a_process_that_is_gone_are_nobodys)
{
	_cleanup_(task_sums_clear) struct sums t = {};
	struct task_record live[] = { task(1, 0, 10, 0), task(1, 11, 11, 5 * MS) };

	ASSERT_OK(task_sums_add_tasks(&t, live, ARRAY_SIZE(live), NULL, 0, NOW));
	check_threads(&t, 1, 5 * MS, 5 * MS);
}

TEST(of_a_leafs_processes_that_which_did_most_is_told)
{
	_cleanup_(task_sums_clear) struct sums t = {};
	const struct task_totals less = { .busiest = { 3, 600, 200 } },
				 most = { .busiest = { 2, 900, 800 } };
	struct task_record live[] = { task(1, 10, 10, 800) };

	ASSERT_OK(task_sums_add_totals(&t, 1, &less));
	check_threads(&t, 3, 600, 200);
	ASSERT_OK(task_sums_add_totals(&t, 1, &most));
	ASSERT_OK(task_sums_add_totals(&t, 1, &less));
	check_threads(&t, 2, 900, 800);
	ASSERT_OK(task_sums_add_tasks(&t, live, 1, NULL, 0, NOW)); /* on a CPU for less */
	check_threads(&t, 2, 900, 800);
}

TEST(what_a_task_did_elsewhere_is_not_its_leafs)
{
	_cleanup_(task_sums_clear) struct sums t = {};
	struct task_record live[] = { task(1, 10, 10, 0) };

	live[0].base.wchar = 7;
	live[0].base.rchar = 7; /* more than there is: never below nothing */
	live[0].uid = 1000;
	ASSERT_OK(task_sums_add_tasks(&t, live, 1, NULL, 0, NOW));
	ASSERT_EQ(find(&t, 1)->counters.wchar, 3u);
	ASSERT_EQ(find(&t, 1)->counters.rchar, 0u);
	ASSERT_EQ(find(&t, 1)->uid, 1000u);
}

TEST(what_each_live_task_did_is_told_with_what_it_did_elsewhere)
{
	_cleanup_(task_bases_clear) struct task_bases bases = {};
	_cleanup_(task_sums_clear) struct sums t = { .bases = &bases };
	struct task_record live[] = { task(1, 11, 10, 600), task(1, 10, 10, 200) };

	live[1].base.wchar = 7;
	live[1].started_ns = 4711;
	ASSERT_OK(task_sums_add_tasks(&t, live, 2, NULL, 0, NOW));
	ASSERT_EQ(bases.count, (size_t)2);
	ASSERT_EQ(bases.items[0].pid, 10u);
	ASSERT_EQ(bases.items[0].started_ns, UINT64_C(4711));
	ASSERT_EQ(bases.items[0].counters.wchar, UINT64_C(10));
	ASSERT_EQ(bases.items[0].counters.user_ns + bases.items[0].counters.system_ns,
		  UINT64_C(800)); /* the process' */
	ASSERT_EQ(bases.items[1].counters.user_ns, UINT64_C(0));
}

TEST(a_task_that_ended_and_is_still_shown_is_counted_once_and_does_not_live)
{
	_cleanup_(task_sums_clear) struct sums t = {};
	struct task_record live[] = { task(1, 10, 10, 0) };
	const struct leaving_task leaving[] = {
		{ .cgroup = 1, .pid = 10, .counters = { .wchar = 10 } },
		{ .cgroup = 1, .pid = 11, .ended_ns = NOW, .counters = { .wchar = 100 } }
	};

	ASSERT_OK(task_sums_add_tasks(&t, live, 1, leaving, ARRAY_SIZE(leaving), NOW));
	ASSERT_EQ(find(&t, 1)->counters.wchar, 110u);
	ASSERT_EQ(find(&t, 1)->live, 0u);
	ASSERT_EQ(find(&t, 1)->ended, 0u);
}

TEST(a_task_whose_freeing_was_not_seen_is_settled_after_a_while)
{
	_cleanup_(task_sums_clear) struct sums t = {};
	const struct task_totals totals = { .exits = 5, .frees = 4 };
	const struct leaving_task leaving = { .cgroup = 1,
					      .pid = 10,
					      .crashed = 1,
					      .ended_ns = NOW - TASK_SUMS_PATIENCE_NS,
					      .counters = { .wchar = 17 } };

	ASSERT_OK(task_sums_add_totals(&t, 1, &totals));
	ASSERT_OK(task_sums_add_tasks(&t, NULL, 0, &leaving, 1, NOW - 1));
	ASSERT_EQ(find(&t, 1)->unsettled, 1u);
	task_sums_clear(&t);
	ASSERT_OK(task_sums_add_totals(&t, 1, &totals));
	ASSERT_OK(task_sums_add_tasks(&t, NULL, 0, &leaving, 1, NOW));
	task_sums_settle(&t);
	ASSERT_EQ(find(&t, 1)->unsettled, 0u);
	ASSERT_EQ(find(&t, 1)->ended, 5u);
	ASSERT_EQ(find(&t, 1)->crashed, 1u);
	ASSERT_EQ(find(&t, 1)->counters.wchar, 17u);
}
