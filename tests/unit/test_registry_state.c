/* SPDX-License-Identifier: MIT */
#include "jobs/registry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters/cgroups.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "cgroup/identity.h"
#include "lives.h"
#include "test.h"
#include "model/sections/oom_list.h"
#include "model/sections/syscalls.h"
#include "model/sections/hot_files.h"
#include "model/sections.h"
#include "model/sections/trace.h"

#define JOB "/slurm/uid_1000/job_42"

static const struct group_life top = { .id = 1, .born_ns = 110 * SECOND, .path = JOB };

static char *format(struct registry *r, const char *manager, const char *id)
{
	struct registry_job *j = registry_find(r, manager, id);
	char *text = NULL;

	ASSERT(j);
	ASSERT_OK(registry_format_job(j, &text));
	return text;
}

static void parse(struct registry *r, const char *text)
{
	struct error err = {};
	int code = registry_parse_job(r, text, strlen(text), &err);

	if (code < 0)
		fprintf(stderr, "%s\n%s\n", err.text, text);
	ASSERT_OK(code);
}

/* A job of which one cgroup is folded, and a run in it of which that cgroup is, too. */
static struct cgroup_block cgroup_block_of(uint64_t cgroup, enum block_op op, uint64_t bytes)
{
	struct cgroup_block block = { cgroup,
				      { "sda", op, { .bytes = bytes, .requests = 1, .ns = 13 } } };

	block.row.counts.latencies.counts[5] = 1;
	return block;
}

static struct registry *make(void)
{
	struct registry *r = lives_registry();
	const struct group_life lives[] = { top, life(2, 1, 111, 0, JOB "/step_0"),
					    life(3, 2, 112, 120, JOB "/step_0/jobmeter-run-9") };
	struct cgroup_tasks tasks[] = { tasks_of(2, 5, 1, 0), tasks_of(3, 7, 0, 2) };
	const struct cgroup_row rows[] = { row_of(3, 1, OP_READ, INTERFACE_CALL, 3, 300),
					   row_of(3, 2, OP_STAT, INTERFACE_CALL, 4, 1),
					   row_of(2, 1, OP_READ, INTERFACE_CALL, 10, 1000) };
	const struct cgroup_core cores[] = { { 3, SECOND, 5 },
					     { 3, 2 * SECOND, 0 },
					     { 2, SECOND, 1 } };
	struct cgroup_histograms histograms = { .key = { .cgroup = 3, .place = 1, .op = OP_READ } };
	const struct cgroup_block blocks[] = { cgroup_block_of(3, BLOCK_WRITE, 503),
					       cgroup_block_of(2, BLOCK_WRITE, 7),
					       cgroup_block_of(3, BLOCK_WRITE, 11) };
	const struct thermal_moment warm = { .cpus = 3,
					     .frequency_hz = 2900000000,
					     .frequency_min_hz = 1300000000,
					     .has_temperature = true,
					     .millicelsius = 61003,
					     .has_throttles = true,
					     .core_throttles = 5 };
	const struct oom_kill killed = {
		.time_ns = 121 * SECOND, .pid = 4711, .uid = -1, .command = "hog"
	};

	tasks[1].busiest = (struct busiest_threads){ 4, 3 * SECOND, SECOND };
	*network_number_ref(&tasks[0].network, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES) = 1009;
	*network_number_ref(&tasks[1].network, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES) = 503;
	*network_number_ref(&tasks[1].network, SOCKET_TCP, METRIC_NETWORK_RETRANSMITS) = 3;
	tasks[1].network.min_rtt_ns = 31000;
	tasks[1].network.rtt_distribution.counts[7] = 13;
	learn(r, 121, lives, 3);
	FEED(r, .tasks = tasks, .task_count = 2, .rows = rows, .row_count = 3, .cores = cores,
	     .core_count = 3, .blocks = blocks, .block_count = 3,
	     .counted = COUNTED_DETAILS | COUNTED_TASKS | COUNTED_NETWORK | COUNTED_CONNECTIONS |
			COUNTED_BLOCK | COUNTED_FILES | COUNTED_CLOCK | COUNTED_SYSCALLS |
			COUNTED_HOT_FILES);
	registry_job_facts(registry_find(r, "slurm", "42"))->account = strdup("physics");
	registry_job_sample(registry_find(r, "slurm", "42"), &warm);
	registry_job_sample(registry_find(r, "slurm", "42"), &warm);
	registry_job_add(registry_find(r, "slurm", "42"), METRIC_CPU_CYCLES, 10007);
	ASSERT_EQ(fold(r, 122), (size_t)1);
	ASSERT_OK(registry_add_oom_kill(r, 2, &killed));
	ASSERT_OK(registry_add_oom_kill(r, 2, &killed)); /* it is told at each reading */
	ASSERT_OK(registry_add_oom_kill(r, 4711, &killed));
	histograms.histograms.sizes[9] = 3;
	ASSERT_OK(registry_fold_histograms(r, &histograms, 1, name_by_number, NULL));
	return r;
}

/* What the kernel side still has of it: without the cgroup that is folded, or with it. */
static void go_on(struct registry *r, bool has_cgroup)
{
	const struct group_life lives[] = { top, life(2, 1, 111, 0, JOB "/step_0"),
					    life(3, 2, 112, 120, JOB "/step_0/jobmeter-run-9") };
	const struct cgroup_tasks tasks[] = { tasks_of(2, 6, 1, 0), tasks_of(3, 7, 0, 2) };
	const struct cgroup_row rows[] = { row_of(2, 1, OP_READ, INTERFACE_CALL, 11, 1100),
					   row_of(3, 1, OP_READ, INTERFACE_CALL, 3, 300),
					   row_of(3, 2, OP_STAT, INTERFACE_CALL, 4, 1) };

	learn(r, 131, lives, has_cgroup ? 3 : 2);
	feed(r, tasks, has_cgroup ? 2 : 1, rows, has_cgroup ? 3 : 1);
}

static void check_whole(struct registry *r)
{
	struct snapshot *s = snap(r, 131);
	const struct snapshot_job *job = snapshot_find(s, "slurm", "42");

	ASSERT_EQ(s->job_count, (size_t)2);
	ASSERT(job->is_live && !snapshot_find(s, "run", "9")->is_live);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)13);
	ASSERT_EQ(number_of(s, "run", "9", METRIC_CPU_USER), (uint64_t)7);
	ASSERT_EQ(counts_of(s, "slurm", "42", "/1", OP_READ, INTERFACE_CALL).bytes, (uint64_t)1400);
	ASSERT_EQ(counts_of(s, "slurm", "42", "/2", OP_STAT, INTERFACE_CALL).not_found,
		  (uint64_t)1);
	ASSERT_EQ(counts_of(s, "run", "9", "/1", OP_READ, INTERFACE_CALL).bytes, (uint64_t)300);
	ASSERT_EQ(job->steps[0].values[METRIC_CPU_USER].number, (uint64_t)13);
	ASSERT_EQ(job->job->start_ns, EPOCH + 110 * SECOND);
	ASSERT_STREQ(job->job->account, "physics");
	ASSERT_EQ(job->job->uid, (int64_t)1000);
}

/* What no cgroup of it did. */
static void check_sensors(struct registry *r)
{
	struct snapshot *s = snap(r, 131);
	const struct snapshot_job *job = snapshot_find(s, "slurm", "42");

	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_CYCLES), (uint64_t)10007);
	ASSERT_EQ(job->thermal.samples.number, (uint64_t)2);
	ASSERT_EQ(job->thermal.frequency_hz.number, UINT64_C(2900000000));
	ASSERT_EQ(job->thermal.frequency_min_hz.number, UINT64_C(1300000000));
	ASSERT_EQ(job->thermal.temperature_max.number, UINT64_C(61003));
	ASSERT_EQ(job->thermal.core_throttles.number, UINT64_C(5));
	ASSERT(!snapshot_find(s, "run", "9")->thermal.samples.is_known);
}

/* The folded cgroup's 2 s; 1 s of 21 s are not enough. */
static void check_cores(struct registry *r)
{
	struct snapshot *s = snap(r, 131);

	ASSERT_EQ(snapshot_find(s, "slurm", "42")->cores.count.number, (uint64_t)1);
}

static void check_threads(struct registry *r)
{
	struct snapshot *s = snap(r, 131);
	const struct threads *threads = &snapshot_find(s, "slurm", "42")->threads;

	ASSERT_EQ(threads->count.number, (uint64_t)4);
	ASSERT_EQ(threads->balance.number, (uint64_t)7500);
}

/* What is fed after a restart beside what is folded. */
static const struct network *network_after(struct registry *r, struct snapshot **ret)
{
	struct cgroup_tasks tasks[] = { tasks_of(2, 6, 1, 0) };

	*network_number_ref(&tasks[0].network, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES) = 2003;
	tasks[0].network.min_rtt_ns = 37000;
	tasks[0].network.rtt_distribution.counts[7] = 17;
	FEED(r, .tasks = tasks, .task_count = 1,
	     .counted = COUNTED_TASKS | COUNTED_NETWORK | COUNTED_CONNECTIONS | COUNTED_DETAILS |
			COUNTED_FILES);
	*ret = snap(r, 132);
	return network_of(&snapshot_find(*ret, "slurm", "42")->parts);
}

TEST(what_was_sent_comes_back_and_goes_on)
{
	_cleanup_(registry_freep) struct registry *before = make(), *after = lives_registry();
	_cleanup_free_ char *text = format(before, "slurm", "42");
	struct snapshot *s;
	const struct network *n;

	parse(after, text);
	go_on(after, false);
	n = network_after(after, &s);
	ASSERT(n->is_known && n->has_connections);
	ASSERT_EQ(network_number(n, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES), (uint64_t)(503 + 2003));
	ASSERT_EQ(network_number(n, SOCKET_TCP, METRIC_NETWORK_RETRANSMITS), (uint64_t)3);
	ASSERT(n->has_details);
	ASSERT_EQ(n->min_rtt_ns, (uint64_t)31000);
	ASSERT_EQ(n->rtt_distribution.counts[7], (uint64_t)(13 + 17));
	n = network_of(&snapshot_find(s, "slurm", "42")->steps[0].parts);
	ASSERT(n->is_known && n->has_connections && n->has_details);
	ASSERT_EQ(network_number(n, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES), (uint64_t)(503 + 2003));
	ASSERT_EQ(n->rtt_distribution.counts[7], (uint64_t)(13 + 17));
}

/* As a build before wrote it down, or of which a part was not known: a part of it is not it. */
TEST(what_was_sent_is_not_known_if_a_part_is_not)
{
	static const struct {
		const char *lacking;
		bool is_known, has_connections, has_details, is_known_of_step;
	} rows[] = {
		{ "steps/0/network", true, true, true, false },
		{ "network/tcp/connections/rtt_distribution", true, true, false, true },
		{ "network/tcp/connections", true, false, false, true },
		{ "network", false, false, false, true },
	};
	_cleanup_(registry_freep) struct registry *before = make();
	_cleanup_free_ char *text = format(before, "slurm", "42");

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(registry_freep) struct registry *after = lives_registry();
		_cleanup_free_ char *older = without(text, rows[i].lacking);
		const struct network *n;
		struct snapshot *s;

		parse(after, older);
		go_on(after, false);
		n = network_after(after, &s);
		ASSERT(n->is_known == rows[i].is_known);
		ASSERT(n->has_connections == rows[i].has_connections);
		ASSERT(n->has_details == rows[i].has_details);
		ASSERT_EQ(network_number(n, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES),
			  rows[i].is_known ? UINT64_C(503 + 2003) : UINT64_C(0));
		n = network_of(&snapshot_find(s, "slurm", "42")->steps[0].parts);
		ASSERT(n->is_known == rows[i].is_known_of_step);
	}
}

static struct syscall_row syscall_of(const char *name, uint64_t calls, uint64_t ns)
{
	struct syscall_row row = {};

	snprintf(row.name, sizeof(row.name), "%s", name);
	syscall_set(&row, METRIC_SYSCALL_CALLS, calls);
	syscall_set(&row, METRIC_SYSCALL_ERRORS, 0);
	syscall_set(&row, METRIC_SYSCALL_SECONDS, ns);
	syscall_set(&row, METRIC_SYSCALL_LONGEST, ns);
	return row;
}

/* What is kept of it; UINT64_MAX: it is not known. */
static uint64_t kept(struct registry *r, const char *manager, const char *id, const char *name,
		     enum metric_id metric)
{
	static const struct syscalls none = { .is_known = true };
	const struct syscalls *s = registry_job_part(registry_find(r, manager, id),
						     &syscalls_section);
	const struct syscall_row *row = syscalls_find(s ? s : &none, name);

	return row ? syscall_number(row, metric).number : !s || s->is_known ? 0 : UINT64_MAX;
}

static void feed_details(struct registry *r, unsigned int counted)
{
	FEED(r, .counted = COUNTED_FILES | counted);
}

static struct cgroup_part part_of(uint64_t cgroup, struct syscall_row *row)
{
	static struct syscalls one;

	one = (struct syscalls){ .is_known = true, .items = row, .count = 1 };
	return (struct cgroup_part){ cgroup, &syscalls_section, &one };
}

static void fold_calls(struct registry *r, uint64_t cgroup, struct syscall_row row)
{
	const struct cgroup_part part = part_of(cgroup, &row);

	ASSERT_OK(registry_fold_part(r, &part));
}

static void inherit_calls(struct registry *r, uint64_t cgroup, struct syscall_row row)
{
	const struct cgroup_part part = part_of(cgroup, &row);

	ASSERT_OK(registry_inherit_part(r, &part));
}

TEST(system_calls_of_cgroups_that_ended_come_back)
{
	_cleanup_(registry_freep) struct registry *before = make(), *after = lives_registry();
	const struct syscall_row read = syscall_of("read", 1009, 13),
				 more = syscall_of("read", 503, 17);
	_cleanup_free_ char *slurm = NULL, *run = NULL;

	fold_calls(before, 3, read);
	fold_calls(before, 3, more);
	fold_calls(before, 2, more); /* which lives */
	fold_calls(before, 4711, more);
	ASSERT_EQ(kept(before, "slurm", "42", "read", METRIC_SYSCALL_CALLS), 1512u);
	ASSERT_EQ(kept(before, "run", "9", "read", METRIC_SYSCALL_CALLS), 1512u);
	inherit_calls(before, 2, more); /* until the kernel side ends */
	inherit_calls(before, 3, more); /* which is folded */
	slurm = format(before, "slurm", "42");
	run = format(before, "run", "9");
	parse(after, slurm);
	parse(after, run);
	feed_details(after, COUNTED_SYSCALLS);
	ASSERT_EQ(kept(after, "slurm", "42", "read", METRIC_SYSCALL_CALLS), 2015u);
	ASSERT_EQ(kept(after, "slurm", "42", "read", METRIC_SYSCALL_SECONDS), 47u);
	ASSERT_EQ(kept(after, "slurm", "42", "read", METRIC_SYSCALL_LONGEST), 17u);
	ASSERT_EQ(kept(after, "run", "9", "read", METRIC_SYSCALL_CALLS), 1512u);
	ASSERT_EQ(kept(after, "run", "9", "write", METRIC_SYSCALL_CALLS), 0u);
}

TEST(system_calls_are_not_known_if_an_agent_in_between_did_not_count_them)
{
	_cleanup_(registry_freep) struct registry *before = make(), *between = lives_registry(),
						  *after = lives_registry();
	const struct group_life lives[] = { top, life(2, 1, 111, 0, JOB "/step_0") };
	const struct syscall_row read = syscall_of("read", 1009, 13);
	_cleanup_free_ char *text = NULL, *lacking = NULL;

	fold_calls(before, 3, read);
	text = format(before, "slurm", "42");
	parse(between, text);
	ASSERT_EQ(kept(between, "slurm", "42", "read", METRIC_SYSCALL_CALLS), 1009u);
	learn(between, 131, lives, 2);
	feed_details(between, 0);
	ASSERT_OK(registry_inherit(between)); /* what it measured */
	ASSERT_EQ(kept(between, "slurm", "42", "read", METRIC_SYSCALL_CALLS), UINT64_MAX);
	lacking = format(between, "slurm", "42");
	parse(after, lacking);
	feed_details(after, COUNTED_SYSCALLS);
	inherit_calls(after, 2, read);
	ASSERT_EQ(kept(after, "slurm", "42", "read", METRIC_SYSCALL_CALLS), UINT64_MAX);
}

TEST(what_is_on_demand_is_known_of_a_job_that_did_nothing_while_it_is_counted)
{
	_cleanup_(registry_freep) struct registry *r = make();
	_cleanup_free_ char *without_any = NULL;

	ASSERT_TOLD(format(r, "slurm", "42"), "\"syscalls\": []", "\"hot\": []");
	feed_details(r, COUNTED_SYSCALLS);
	without_any = format(r, "slurm", "42");
	ASSERT_CONTAINS(without_any, "\"syscalls\": []");
	ASSERT(!strstr(without_any, "\"hot\""));
}

TEST(files_of_cgroups_that_ended_come_back_and_stay_few)
{
	_cleanup_(registry_freep) struct registry *before = make(), *after = lives_registry();
	const struct hot_files *files;
	struct hot_file *file;
	_cleanup_free_ char *text = NULL;

	for (unsigned int i = 0; i < 2 * HOT_MERGED; i++) {
		struct hot_files part = { .is_known = true };
		char path[32];

		snprintf(path, sizeof(path), "/scratch/%u", i);
		for (int k = 0; k < 2; k++) { /* one of its own, and one of all */
			ASSERT_OK(hot_list_add(&part.hot, k ? "/scratch/all" : path, "/scratch",
					       &file));
			*hot_file_number(file, METRIC_FILE_READ_BYTES) = 1009 + i;
			*hot_file_number(file, METRIC_FILE_READ_CALLS) = 1;
			hot_file_add(&part.total, file);
		}
		ASSERT_OK(registry_fold_part(before,
					     &(struct cgroup_part){ 3, &files_section, &part }));
		hot_files_clear(&part);
	}
	text = format(before, "slurm", "42");
	parse(after, text);
	feed_details(after, COUNTED_HOT_FILES);
	files = registry_job_part(registry_find(after, "slurm", "42"), &files_section);
	ASSERT(files && files->is_known && files->hot.count <= HOT_MERGED);
	file = hot_list_find(&files->hot, "/scratch/all", "/scratch");
	ASSERT(file);
	ASSERT_EQ(hot_file_get(file, METRIC_FILE_READ_CALLS), 2u * HOT_MERGED);
	ASSERT_EQ(hot_file_get(&files->total, METRIC_FILE_READ_CALLS), 4u * HOT_MERGED);
	ASSERT(hot_list_find(&files->hot, "/scratch/255", "/scratch"));
}

TEST(what_was_written_down_comes_back)
{
	_cleanup_(registry_freep) struct registry *before = make(), *after = lives_registry();
	_cleanup_free_ char *slurm = format(before, "slurm", "42"),
			    *run = format(before, "run", "9");
	_cleanup_(reading_clear) struct reading reading = {};
	uint64_t *cgroups = NULL;
	size_t count;

	parse(after, slurm);
	parse(after, run);
	ASSERT_TEXT(format(after, "slurm", "42"), slurm);
	ASSERT_OK(registry_folded(after, &cgroups, &count));
	ASSERT_EQ(count, (size_t)1);
	ASSERT_EQ(cgroups[0], (uint64_t)3);
	ASSERT_OK(registry_forget(after, cgroups, count));
	free(cgroups);
	go_on(after, false);
	check_whole(after);
	check_cores(after);
	check_sensors(after);
	check_threads(after);
	ASSERT_EQ(registry_job_oom_kills(registry_find(after, "slurm", "42"))->count, (size_t)1);
	ASSERT_EQ(registry_job_oom_kills(registry_find(after, "slurm", "42"))->items[0].pid, 4711);
	ASSERT_EQ(registry_job_oom_kills(registry_find(after, "run", "9"))->count, (size_t)0);
	ASSERT_OK(registry_add_histograms(registry_find(after, "slurm", "42"), &reading));
	ASSERT_EQ(reading.mounts[0].sizes[OP_READ].counts[9], (uint64_t)3);
}

TEST(a_cgroup_that_was_written_down_and_not_erased_is_not_counted_twice)
{
	_cleanup_(registry_freep) struct registry *before = make(), *after = lives_registry();
	_cleanup_free_ char *slurm = format(before, "slurm", "42"),
			    *run = format(before, "run", "9");

	parse(after, slurm);
	parse(after, run);
	go_on(after, true);
	ASSERT_EQ(fold(after, 132), (size_t)0);
	check_whole(after);
}

TEST(a_cgroup_of_two_jobs_of_which_one_was_written_down_is_lost_to_neither)
{
	for (int which = 0; which < 2; which++) {
		_cleanup_(registry_freep) struct registry *before = make(),
							  *after = lives_registry();
		_cleanup_free_ char *text = which ? format(before, "slurm", "42")
						  : format(before, "run", "9");
		_cleanup_free_ uint64_t *cgroups = NULL;
		size_t count;

		parse(after, text);
		ASSERT_OK(registry_folded(after, &cgroups, &count));
		ASSERT_EQ(count, (size_t)0); /* the other one still needs it */
		go_on(after, true);
		if (!which)
			registry_job_facts(registry_find(after, "slurm", "42"))->account =
				strdup("physics");
		check_whole(after);
		go_on(after, true);
		ASSERT_EQ(fold(after, 132), (size_t)1);
		check_whole(after);
	}
}

TEST(a_half_that_is_gone_is_forgotten)
{
	_cleanup_(registry_freep) struct registry *before = make(), *after = lives_registry();
	_cleanup_free_ char *run = format(before, "run", "9");
	uint64_t *cgroups = NULL;
	size_t count;

	parse(after, run);
	go_on(after, false);
	ASSERT_OK(registry_folded(after, &cgroups, &count));
	ASSERT_EQ(count, (size_t)1);
	ASSERT_OK(registry_forget(after, cgroups, count));
	free(cgroups);
	registry_expire(after, 1000 * SECOND, NULL, NULL);
	ASSERT(!registry_find(after, "run", "9"));
}

TEST(a_job_of_another_boot_is_over)
{
	const struct registry_options options = { .started_boot_ns = 5 * SECOND,
						  .started_real_ns = EPOCH + 999 * SECOND,
						  .boot_id = "boot-b" };
	_cleanup_(registry_freep) struct registry *before = make(), *after = registry_new(&options);
	_cleanup_free_ char *text = format(before, "slurm", "42");
	const struct group_life lives[] = { life(1, 0, 6, 0, "/slurm/uid_1000/job_43"),
					    life(3, 1, 6, 0, "/slurm/uid_1000/job_43/step_0") };
	const struct cgroup_tasks tasks[] = { tasks_of(3, 1000, 1, 0) };
	struct snapshot *s;
	uint64_t *cgroups;
	size_t count;

	parse(after, text);
	ASSERT_OK(registry_folded(after, &cgroups, &count)); /* numbers of another boot's groups */
	free(cgroups);
	ASSERT_EQ(count, (size_t)0);
	learn(after, 7, lives, 2);
	feed(after, tasks, 1, NULL, 0);
	s = snap(after, 7);
	ASSERT(!snapshot_find(s, "slurm", "42")->is_live);
	ASSERT_EQ(number_of(s, "slurm", "42", METRIC_CPU_USER), (uint64_t)7);
	ASSERT_EQ(number_of(s, "slurm", "43", METRIC_CPU_USER), (uint64_t)1000);
	registry_expire(after, 306 * SECOND, NULL, NULL);
	ASSERT(!registry_find(after, "slurm", "42"));
}

TEST(an_ended_job_stays_ended)
{
	const struct group_life lives[] = { life(1, 0, 110, 120, "/jobmeter-run-5") };
	_cleanup_(registry_freep) struct registry *before = lives_registry(),
						  *after = lives_registry();
	_cleanup_free_ char *text = NULL;
	struct snapshot *s;

	learn(before, 121, lives, 1);
	feed(before, NULL, 0, NULL, 0);
	ASSERT(registry_job_is_changed(registry_find(before, "run", "5")));
	ASSERT_EQ(fold_and_forget(before, 122), (size_t)1);
	registry_job_saved(registry_find(before, "run", "5"));
	ASSERT(!registry_job_is_changed(registry_find(before, "run", "5")));
	text = format(before, "run", "5");
	parse(after, text);
	learn(after, 130, NULL, 0);
	s = snap(after, 130);
	ASSERT(!s->jobs[0].is_live);
	ASSERT_EQ(s->jobs[0].job->end_ns, EPOCH + 120 * SECOND);
	registry_expire(after, 420 * SECOND, NULL, NULL);
	ASSERT(!registry_find(after, "run", "5"));
}

/* A job of another boot was live then, or nobody had its end: what was reported of it last holds
 * more. */
/* A trace's word: so many calls so far. */
static int tell(struct registry_job *j, uint64_t trace, uint64_t calls, uint64_t until_ns)
{
	_cleanup_(traced_calls_clear) struct traced_calls now = { .is_known = true };
	struct traced_function *f = NULL;

	ASSERT_OK(traced_get(&now, "mpi", "MPI_Send", &f));
	*traced_number_ref(f, METRIC_TRACE_CALLS) = calls;
	return registry_job_add_trace(j, trace, until_ns, &now);
}

static uint64_t traced(const struct registry_job *j)
{
	const struct traced_calls *calls = registry_job_part(j, &trace_section);

	return calls ? traced_total(calls, METRIC_TRACE_CALLS) : 0;
}

TEST(what_a_trace_told_is_added_once_and_comes_back)
{
	_cleanup_(registry_freep) struct registry *before = make(), *after = lives_registry();
	struct registry_job *j = registry_find(before, "slurm", "42");
	_cleanup_free_ char *text = NULL;

	ASSERT_UNTOLD(format(before, "slurm", "42"), "trace");
	registry_job_saved(j);
	ASSERT_OK(tell(j, 3, 13, 0));
	ASSERT(registry_job_is_changed(j));
	ASSERT_OK(tell(j, 5, 7, 0));
	ASSERT_OK(tell(j, 3, 17, 0));
	ASSERT_OK(tell(j, 3, 13, 0)); /* late */
	ASSERT_EQ(traced(j), 24u);
	text = format(before, "slurm", "42");
	parse(after, text);
	j = registry_find(after, "slurm", "42");
	ASSERT_TEXT(format(after, "slurm", "42"), text);
	ASSERT_OK(tell(j, 3, 17, 0));
	ASSERT_EQ(traced(j), 24u);
	ASSERT_OK(tell(j, 5, 18, 0));
	ASSERT_EQ(traced(j), 35u);
}

TEST(of_traces_that_are_not_kept_nothing_is_added)
{
	_cleanup_(registry_freep) struct registry *r = make(), *after = lives_registry();
	struct registry_job *j = registry_find(r, "slurm", "42");
	_cleanup_free_ char *text = NULL;

	for (uint64_t trace = 11; trace < 11 + 9; trace++) /* one more than are kept */
		ASSERT_OK(tell(j, trace, 2, 0));
	ASSERT_ERR(tell(j, 11, 3, 0), -ESTALE);
	ASSERT_ERR(tell(j, 7, 3, 0), -ESTALE);
	ASSERT_OK(tell(j, 12, 3, 0));
	ASSERT_EQ(traced(j), 19u);
	text = format(r, "slurm", "42");
	parse(after, text);
	j = registry_find(after, "slurm", "42");
	ASSERT_ERR(tell(j, 11, 3, 0), -ESTALE);
	ASSERT_OK(tell(j, 20, 1, 0));
	ASSERT_EQ(traced(j), 20u);
}

TEST(a_final_record_waits_for_a_traces_last_word)
{
	const struct group_life lives[] = { life(1, 0, 110, 120, "/jobmeter-run-5") };
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	struct registry_job *j;

	learn(r, 121, lives, 1);
	feed(r, NULL, 0, NULL, 0);
	j = registry_find(r, "run", "5");
	ASSERT_EQ(fold_and_forget(r, 122), (size_t)1);
	(void)snap(r, 123);
	ASSERT_OK(tell(j, 3, 1, 130 * SECOND));
	ASSERT(!registry_job_is_to_report(j));
	ASSERT_OK(tell(j, 3, 2, 0));
	ASSERT(registry_job_is_to_report(j));
	ASSERT_OK(tell(j, 4, 2, 130 * SECOND));
	ASSERT(!registry_job_is_to_report(j));
	feed(r, NULL, 0, NULL, 0);
	(void)snap(r, 131); /* it was killed, perhaps */
	ASSERT(registry_job_is_to_report(j));
}

TEST(a_job_whose_final_record_was_reported_stays_so_and_one_of_another_boot_is_none)
{
	const struct group_life lives[] = { life(1, 0, 110, 120, "/jobmeter-run-5") };
	const struct registry_options options = { .started_boot_ns = 5 * SECOND,
						  .started_real_ns = EPOCH + 999 * SECOND,
						  .boot_id = "boot-b" };
	_cleanup_(registry_freep) struct registry *before = lives_registry(),
						  *after = lives_registry(),
						  *rebooted = registry_new(&options);
	_cleanup_free_ char *waiting = NULL, *reported = NULL;
	struct registry_job *j;

	learn(before, 121, lives, 1);
	feed(before, NULL, 0, NULL, 0);
	j = registry_find(before, "run", "5");
	ASSERT(!registry_job_is_to_report(j)); /* its cgroup is not folded */
	ASSERT(!registry_job_has_state(j));
	ASSERT_EQ(fold_and_forget(before, 122), (size_t)1);
	ASSERT(registry_job_is_to_report(j));
	registry_job_saved(j);
	ASSERT(registry_job_has_state(j));
	waiting = format(before, "run", "5");
	registry_job_set_reported(j);
	ASSERT(!registry_job_is_to_report(j) && registry_job_is_changed(j));
	reported = format(before, "run", "5");

	parse(rebooted, waiting);
	ASSERT(!registry_job_is_to_report(registry_find(rebooted, "run", "5")));
	parse(after, reported);
	j = registry_find(after, "run", "5");
	ASSERT(registry_job_has_state(j) && !registry_job_is_to_report(j));
}

TEST(a_start_is_the_same_after_a_restart_whatever_the_clock_was_set_to)
{
	const struct group_life lives[] = { life(1, 0, 110, 0, "/jobmeter-run-5") };
	const struct registry_options options = { .started_boot_ns = 130 * SECOND,
						  .started_real_ns = EPOCH + 137 * SECOND,
						  .boot_id = "boot-a" };
	_cleanup_(registry_freep) struct registry *before = lives_registry(),
						  *after = registry_new(&options);
	_cleanup_free_ char *text = NULL;

	learn(before, 121, lives, 1);
	text = format(before, "run", "5");
	parse(after, text);
	ASSERT_OK(registry_learn(after, lives, 1, 131 * SECOND, EPOCH + 138 * SECOND));
	ASSERT_EQ(registry_job_known(registry_find(after, "run", "5"))->start_ns,
		  EPOCH + 110 * SECOND);
}

TEST(a_live_run_is_itself_again_and_no_other_one)
{
	const struct group_life lives[] = { life(1, 0, 110, 0, "/jobmeter-run-5"),
					    life(2, 1, 111, 120, "/jobmeter-run-5/x") };
	const struct group_life others[] = { life(7, 0, 140, 0, "/jobmeter-run-5") };
	const struct cgroup_tasks tasks[] = { tasks_of(2, 9, 0, 1) };
	_cleanup_(registry_freep) struct registry *before = lives_registry(),
						  *same = lives_registry(),
						  *other = lives_registry();
	_cleanup_free_ char *text = NULL;
	struct snapshot *s;

	learn(before, 121, lives, 2);
	feed(before, tasks, 1, NULL, 0);
	ASSERT_EQ(fold_and_forget(before, 122), (size_t)1);
	text = format(before, "run", "5");
	parse(same, text);
	learn(same, 130, lives, 1);
	feed(same, NULL, 0, NULL, 0);
	s = snap(same, 130);
	ASSERT_EQ(number_of(s, "run", "5", METRIC_CPU_USER), (uint64_t)9);
	ASSERT(s->jobs[0].is_live);
	parse(other, text);
	learn(other, 141, others, 1);
	feed(other, NULL, 0, NULL, 0);
	s = snap(other, 141);
	ASSERT_EQ(number_of(s, "run", "5", METRIC_CPU_USER), (uint64_t)0);
}

/* @text with @from replaced by @to, which must be there. */
static char *replace(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	char *changed = NULL;

	if (!at)
		fprintf(stderr, "no %s in %s\n", from, text);
	ASSERT(at);
	ASSERT(asprintf(&changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) > 0);
	return changed;
}

/* Whose a run is, and that a job counts against its user, holds over a restart. */
TEST(owners_and_makers_come_back)
{
	const struct registry_options options = { .jobs_max = 32, .boot_id = "boot-a" };
	struct group_life lives[] = { life(1, 0, 110, 0, "/jobmeter-run-5"),
				      life(2, 0, 111, 0, "/u/libpod-aaaabbbbcccc"),
				      life(3, 0, 112, 0, "/u/libpod-aaaabbbbdddd"),
				      life(4, 0, 113, 0, "/u/libpod-aaaabbbbeeee") };
	_cleanup_(registry_freep) struct registry *r = registry_new(&options),
						  *next = registry_new(&options);
	struct registry_job *j = NULL;

	lives[1].maker_uid = lives[2].maker_uid = lives[3].maker_uid = 7;
	learn(r, 115, lives, 3);
	ASSERT_OK(registry_job_announce(registry_find(r, "run", "5"), 8));
	while ((j = registry_next(r, j))) {
		_cleanup_free_ char *text = NULL;

		ASSERT_OK(registry_format_job(j, &text));
		parse(next, text);
	}
	j = registry_find(next, "run", "5");
	ASSERT(j && registry_job_is_announced(j) && registry_job_known(j)->uid == 8 &&
	       registry_job_known(j)->group_id == 1);
	ASSERT_EQ(registry_job_maker(registry_find(next, "podman", "aaaabbbbcccc")), 7);
	learn(next, 116, lives, 4);
	ASSERT(!registry_find(next, "podman", "aaaabbbbeeee")); /* two of 32 are all that she may
								   have */
}

TEST(of_a_text_with_anything_odd_nothing_is_taken)
{
	static const char *const odd[][2] = {
		{ "jobmeter.job-state/1", "jobmeter.job-state/2" },
		{ "\"schema\"", "\"skema\"" },
		{ "\"manager\": \"slurm\"", "\"manager\": 7" },
		{ "\"manager\": \"slurm\"", "\"manager\": \"\"" },
		{ "\"id\": \"42\"", "\"id\": null" },
		{ "\"id\": \"42\"", "\"id\": \"4\\u00002\"" },
		{ "\"id\": \"42\"", "\"id\": \"42\", \"id\": \"43\"" },
		{ "\"boot_id\"", "\"boot_ids\"" },
		{ "\"uid\": 1000", "\"uid\": -1" },
		{ "\"uid\": 1000", "\"uid\": 4294967296" },
		{ "\"uid\": 1000", "\"uid\": 1.5" },
		{ "\"values\": {", "\"values\": {\"cpu.nonsense\": 1, " },
		{ "\"values\": {", "\"values\": {\"cpu.system_seconds\": -1, " },
		{ "\"cpu.user_seconds\": 7", "\"cpu.user_seconds\": \"7\"" },
		{ "\"base\": {}", "\"base\": []" },
		{ "\"cores\": [", "\"cores\": [7, " },
		{ "\"cores\": [", "\"cores\": [7, -1, " },
		{ "\"cores\": [", "\"cores\": [7, \"1\", " },
		{ "\"cores\": [", "\"cores\": [4294967296, 1, " },
		{ "\"busiest\": [", "\"busiest\": [7, " },
		{ "\"busiest\": [4", "\"busiest\": [-4" },
		{ "\"busiest\": [4", "\"busiest\": [\"4\"" },
		{ "\"thermal\": [", "\"thermal\": [7, " },
		{ "\"thermal\": [2", "\"thermal\": [-2" },
		{ "\"thermal\": [2", "\"thermal\": [null" },
		{ "\"network\": {", "\"network\": {\"udp\": [1, 2, 3], " },
		{ "\"network\": {", "\"network\": {\"udp\": {\"sent\": 7}, " },
		{ "\"network\": {",
		  "\"network\": {\"udp\": {\"sent\": {\"bytes\": 1, \"calls\": 1}}, " },
		{ "\"network\": {",
		  "\"network\": {\"udp\": {\"sent\": {\"bytes\": 1, \"calls\": 1, \"errors\": -6}}, " },
		{ "\"rtt_distribution\": [", "\"rtt_distribution\": [\"1\", " },
		{ "\"rtt_distribution\": [", "\"rtt_distribution\": [-1, " },
		{ "\"block\": [", "\"block\": [7, " },
		{ "\"block\": [",
		  "\"block\": [{\"device\": \"sda\", \"read\": {\"requests\": 1}}, " },
		{ "\"block\": [",
		  "\"block\": [{\"device\": \"sdb\", \"read\": {\"requests\": -1}}, " },
		{ "\"block\": [", "\"block\": [{\"device\": \"sdb\", \"read\": [1, 1, 0, 1]}, " },
		{ "\"block\": [",
		  "\"block\": [{\"device\": \"sdb\", \"read\": {\"latencies\": [-1]}}, " },
		{ "\"block\": [", "\"block\": [{\"device\": \"\", \"read\": {\"requests\": 1}}, " },
		{ "\"block\": [",
		  "\"block\": [{\"device\": \"a23456789012345678901234567890123\"}, " },
		{ "\"steps\": [", "\"steps\": [7, " },
		{ "\"steps\": [", "\"steps\": [{\"id\": \"0\", \"values\": {}}, " },
		{ "\"steps\": [", "\"steps\": [{\"id\": \"9\"}, " },
		{ "\"steps\": [",
		  "\"steps\": [{\"id\": \"9\", \"values\": {}, \"network\": {\"udp\": [1]}}, " },
		{ "\"steps\": [",
		  "\"steps\": [{\"id\": \"9\", \"values\": {}, \"network\": {}, \"rtt_distribution\": [1]}, " },
		{ "\"mounts\": [", "\"mounts\": [{}, " },
		{ "\"mounts\": [", "\"mounts\": [{\"name\": \"/x\", \"kind\": \"what\"}, " },
		{ "\"mounts\": [", "\"mounts\": [{\"name\": \"/x\", \"aliases\": [1]}, " },
		{ "\"rows\": [", "\"rows\": [[0, \"read\", \"call\", 1, 1, 1], " },
		{ "\"rows\": [", "\"rows\": [[2, \"read\", \"call\", 1, 1, 1, 1], " },
		{ "\"rows\": [", "\"rows\": [[0, \"reed\", \"call\", 1, 1, 1, 1], " },
		{ "\"rows\": [", "\"rows\": [[0, \"stat\", \"splice\", 1, 1, 1, 1], " },
		{ "\"rows\": [", "\"rows\": [[0, \"read\", \"call\", -1, 1, 1, 1], " },
		{ "\"rows\": [", "\"rows\": {\"a\": [" },
		{ "\"histograms\": [", "\"histograms\": [[0, \"read\", \"size\", 28, 1], " },
		{ "\"histograms\": [", "\"histograms\": [[0, \"stat\", \"size\", 1, 1], " },
		{ "\"histograms\": [", "\"histograms\": [[0, \"read\", \"sighs\", 1, 1], " },
		{ "\"cgroups\": [", "\"cgroups\": [[\"0\", 1], " },
		{ "\"cgroups\": [", "\"cgroups\": [[\"3\", 1], " },
		{ "\"cgroups\": [", "\"cgroups\": [[\"99999999999999999999\", 1], " },
		{ "\"cgroups\": [", "\"cgroups\": [[\"7\", 4], " },
		{ "\"cgroups\": [", "\"cgroups\": [[\"7\", 0], " },
		{ "\"top_id\": \"1\"", "\"top_id\": 1" },
		{ "\"is_remade\": true", "\"is_remade\": 1" },
		{ "\"is_remade\": true", "\"is_remade\": true, \"more\": 1" },
	};
	_cleanup_(registry_freep) struct registry *before = make();
	_cleanup_free_ char *text = format(before, "slurm", "42");

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		_cleanup_(registry_freep) struct registry *after = lives_registry();
		_cleanup_free_ char *changed = replace(text, odd[i][0], odd[i][1]);
		struct error err = {};

		if (registry_parse_job(after, changed, strlen(changed), &err) == 0)
			fprintf(stderr, "taken: %s\n", odd[i][1]);
		ASSERT(*err.text);
		ASSERT(!registry_next(after, NULL));
	}
}

TEST(a_torn_text_is_none)
{
	_cleanup_(registry_freep) struct registry *before = make();
	_cleanup_free_ char *text = format(before, "slurm", "42");
	size_t length = strlen(text);

	for (size_t i = 0; i + 2 < length; i += 7) {
		_cleanup_(registry_freep) struct registry *after = lives_registry();

		ASSERT_ERR(registry_parse_job(after, text, i, NULL), -EINVAL);
		ASSERT(!registry_next(after, NULL));
	}
}

TEST(odd_names_come_back)
{
	const struct group_life lives[] = { life(1, 0, 110, 0, "/pbs_jobs.service/jobs/\xff\n\"x"),
					    life(2, 1, 111, 120,
						 "/pbs_jobs.service/jobs/\xff\n\"x/y") };
	const struct cgroup_tasks tasks[] = { tasks_of(2, 9, 0, 1) };
	_cleanup_(registry_freep) struct registry *before = lives_registry(),
						  *after = lives_registry();
	_cleanup_free_ char *text = NULL;
	struct snapshot *s;

	learn(before, 121, lives, 2);
	feed(before, tasks, 1, NULL, 0);
	ASSERT_EQ(fold_and_forget(before, 122), (size_t)1);
	text = format(before, "pbs", "\xef\xbf\xbd\n\"x");
	parse(after, text);
	learn(after, 130, lives, 1);
	feed(after, NULL, 0, NULL, 0);
	s = snap(after, 130);
	ASSERT_EQ(s->job_count, (size_t)1);
	ASSERT_EQ(number_of(s, "pbs", "\xef\xbf\xbd\n\"x", METRIC_CPU_USER), (uint64_t)9);
}

/* ---- an agent that ends and another that starts ---- */

/* As of /proc: two tasks live, of which one is the inner job's, too. */
static const struct task_base living[] = {
	{ .cgroup = 2,
	  .pid = 4711,
	  .started_ns = 111 * SECOND + 7,
	  .counters = { .user_ns = 5, .wchar = 503 } },
	{ .cgroup = 4, .pid = 4712, .started_ns = 112 * SECOND + 9, .counters = { .rchar = 11 } },
};

/* What the registry of an agent that ends has of @text's job, put aside at 130 s. */
static char *put_aside(void)
{
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	const struct group_life lives[] = { top, life(2, 1, 111, 0, JOB "/step_0") };
	const struct cgroup_tasks tasks[] = { tasks_of(2, 5, 1, 0) };
	const struct task_bases bases = { .items = (struct task_base *)living, .count = 2 };

	learn(r, 121, lives, 2);
	feed(r, tasks, 1, NULL, 0);
	ASSERT_OK(registry_put_aside(r, &bases, 130 * SECOND));
	ASSERT(registry_job_is_changed(registry_find(r, "slurm", "42")));
	return format(r, "slurm", "42");
}

TEST(what_live_tasks_had_done_goes_with_the_state_and_is_taken_off_by_the_next_agent)
{
	_cleanup_free_ char *text = put_aside();
	_cleanup_(registry_freep) struct registry *r = lives_registry();
	_cleanup_(task_bases_clear) struct task_bases bases = {};
	uint64_t until_ns = 0;

	parse(r, text);
	ASSERT_OK(registry_bases(r, &bases, &until_ns));
	ASSERT_EQ(until_ns, 130 * SECOND);
	ASSERT_EQ(bases.count, (size_t)1); /* the other one is in no group of a job */
	ASSERT_EQ(bases.items[0].pid, 4711u);
	ASSERT_EQ(bases.items[0].started_ns, living[0].started_ns);
	ASSERT_EQ(bases.items[0].counters.wchar, UINT64_C(503));
}

static uint64_t unmeasured_ns(struct registry *r)
{
	return registry_job_known(registry_find(r, "slurm", "42"))->unmeasured_ns;
}

TEST(the_time_that_nobody_measured_is_the_jobs_once)
{
	_cleanup_free_ char *text = put_aside(), *again = NULL;
	_cleanup_(registry_freep) struct registry *r = lives_registry(), *next = lives_registry();

	parse(r, text);
	ASSERT_OK(registry_resume(r, true, 133 * SECOND)); /* whatever was, it was put aside */
	ASSERT_EQ(unmeasured_ns(r), 3 * SECOND);
	again = format(r, "slurm", "42");
	parse(next, again);
	ASSERT_OK(registry_resume(next, true, 140 * SECOND)); /* taken over, since the state was
								 written */
	ASSERT_EQ(unmeasured_ns(next), 3 * SECOND);
	ASSERT_OK(registry_resume(next, false, 141 * SECOND)); /* what was since it was put aside is
								  lost: since 130 */
	ASSERT_EQ(unmeasured_ns(next), 14 * SECOND);
}

TEST(of_a_job_that_nobody_put_aside_no_time_was_measured_and_no_more_than_it_lived)
{
	_cleanup_(registry_freep) struct registry *before = make(), *r = lives_registry();
	_cleanup_free_ char *text = format(before, "slurm", "42");

	parse(r, text);
	ASSERT_OK(registry_resume(r, false, 133 * SECOND));
	ASSERT_EQ(unmeasured_ns(r), 23 * SECOND);
	ASSERT_OK(registry_resume(r, false, 140 * SECOND));
	ASSERT_EQ(unmeasured_ns(r), 30 * SECOND);
}
