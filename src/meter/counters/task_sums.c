/* SPDX-License-Identifier: MIT */
#include "counters/task_sums.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/ids.h"
#include "basic/macro.h"
#include "bpf/traffic.h"
#include "model/cause.h"

void task_sums_clear(struct sums *t)
{
	free(t->items);
	idmap_clear(&t->index);
	*t = (struct sums){};
}

/* ---- threads ---- */

static size_t level_of(uint64_t on_ns)
{
	size_t level = 0;

	for (on_ns >>= THREAD_LEVELS_FROM; on_ns > 1 && level < THREAD_LEVELS - 1; on_ns >>= 1)
		level++;
	return level;
}

void thread_levels_join(struct thread_levels *levels, uint64_t on_ns, uint64_t started_ns)
{
	size_t level = level_of(on_ns);

	levels->greatest_ns = MAX(levels->greatest_ns, on_ns);
	if (levels->first_end_ns && level + THREADS_REACH >= level_of(levels->greatest_ns))
		levels->are_apart |= started_ns > levels->first_end_ns;
	levels->sums_ns[level] += on_ns;
	levels->counts[level]++;
}

struct busiest_threads thread_levels_busiest(const struct thread_levels *levels)
{
	struct busiest_threads busiest = { .greatest_ns = levels->greatest_ns };
	size_t greatest = level_of(levels->greatest_ns);

	for (size_t i = greatest - MIN(greatest, (size_t)THREADS_REACH); i < THREAD_LEVELS; i++) {
		busiest.count += levels->counts[i];
		busiest.sum_ns += levels->sums_ns[i];
	}
	if (levels->are_apart)
		busiest.count = busiest.greatest_ns = 0;
	return busiest;
}

void busiest_threads_raise(struct busiest_threads *to, const struct busiest_threads *from)
{
	if (from->sum_ns > to->sum_ns)
		*to = *from;
}

/* ---- items by cgroup ---- */

/* NULL: no memory. */
static struct cgroup_tasks *get_item(struct sums *t, uint64_t cgroup)
{
	uintptr_t number;

	cgroup = t->only ? t->only : cgroup;
	number = (uintptr_t)idmap_get(&t->index, cgroup);
	if (number)
		return &t->items[number - 1];
	if (array_reserve(&t->items, &t->room, t->count, sizeof(*t->items)) < 0 ||
	    idmap_put(&t->index, cgroup, (void *)(t->count + 1)) < 0)
		return NULL;
	t->items[t->count] = (struct cgroup_tasks){ .cgroup = cgroup, .uid = UINT32_MAX };
	return &t->items[t->count++];
}

void task_sums_settle(struct sums *t)
{
	idmap_clear(&t->index);
	for (size_t i = 0; i < t->count; i++) {
		if (t->items[i].unsettled > INT64_MAX) /* ends that were before us */
			t->items[i].unsettled = 0;
	}
	if (t->count)
		qsort(t->items, t->count, sizeof(*t->items), ids_compare); /* a cgroup first */
}

/* ---- what is added to them ---- */

/* Structs of @size bytes that are all 64-bit sums. */
static void add_numbers(void *to, const void *from, size_t size)
{
	for (size_t i = 0; i < size / sizeof(uint64_t); i++)
		((uint64_t *)to)[i] += ((const uint64_t *)from)[i];
}

static void add_counters(struct task_counters *to, const struct task_counters *from)
{
	add_numbers(to, from, sizeof(*to));
}

/* Of several the smallest, so that it does not change with the order of CPUs. */
static void note_uid(struct cgroup_tasks *item, uint32_t uid)
{
	if (uid)
		item->uid = MIN(item->uid, uid);
}

int task_sums_add_totals(struct sums *t, uint64_t cgroup, const struct task_totals *totals)
{
	struct cgroup_tasks *item = get_item(t, cgroup);

	if (!item)
		return -ENOMEM;
	add_counters(&item->counters, &totals->ended);
	item->ended += totals->frees;
	item->crashed += totals->crashed;
	item->unsettled += totals->exits - totals->frees; /* of one CPU it may be below 0, of all it
							     is not */
	item->process_peak_pages = MAX(item->process_peak_pages, totals->process_peak_pages);
	note_uid(item, totals->uid);
	busiest_threads_raise(&item->busiest, &totals->busiest);
	return 0;
}

int task_sums_add_times(struct sums *t, uint64_t cgroup, const struct task_times *times)
{
	struct cgroup_tasks *item = get_item(t, cgroup);

	if (!item)
		return -ENOMEM;
	add_numbers(&item->times, times, sizeof(*times));
	return 0;
}

int task_sums_add_polls(struct sums *t, uint64_t cgroup, const struct polls *polls)
{
	struct cgroup_tasks *item = get_item(t, cgroup);

	if (!item)
		return -ENOMEM;
	add_numbers(&item->polls, polls, sizeof(*polls));
	return 0;
}

static_assert(TRAFFIC_COUNTERS == NETWORK_NUMBERS, "both number alike");
static_assert((int)TRAFFIC_TCP == SOCKET_TCP && (int)TRAFFIC_UDP == SOCKET_UDP &&
		      (int)TRAFFIC_UNIX_STREAM == SOCKET_UNIX_STREAM &&
		      (int)TRAFFIC_UNIX_DGRAM == SOCKET_UNIX_DGRAM &&
		      (int)TRAFFIC_OTHER == SOCKET_OTHER && (int)TRAFFIC_KINDS == SOCKET_KIND_COUNT,
	      "and kinds of sockets");
static_assert(sizeof(((struct traffic_counts *)NULL)->rtt_distribution) == sizeof(struct histogram),
	      "and round-trip times");

static void traffic_add(struct network *to, uint32_t kind, const struct traffic_counts *counts)
{
	struct network from = { .min_rtt_ns = counts->min_rtt_ns };

	for (size_t i = 0; i < TRAFFIC_COUNTERS; i++) {
		enum metric_id id = (enum metric_id)(METRIC_NETWORK_FIRST + i);

		if (network_takes((enum socket_kind)kind, id))
			*network_number_ref(&from, (enum socket_kind)kind,
					    id) = ((const uint64_t *)counts)[i];
	}
	memcpy(&from.rtt_distribution, counts->rtt_distribution, sizeof(from.rtt_distribution));
	network_add(to, &from);
}

int task_sums_add_traffic(struct sums *t, uint64_t cgroup, uint32_t kind,
			  const struct traffic_counts *counts)
{
	struct cgroup_tasks *item = get_item(t, cgroup);

	if (!item)
		return -ENOMEM;
	traffic_add(&item->network, kind, counts);
	return 0;
}

/* ---- which tasks are in both lists ---- */

static int compare_pids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

struct pids {
	uint32_t *items;
	size_t count;
};

/* @flag_offset: of the uint32_t that is set of those that are listed; 0: all are. */
static int list_pids(const void *tasks, size_t count, size_t size, size_t pid_offset,
		     size_t flag_offset, struct pids *ret)
{
	const char *task = tasks;

	ret->items = calloc(MAX(count, (size_t)1), sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	for (; count > 0; count--, task += size) {
		if (!flag_offset || *(const uint32_t *)(task + flag_offset))
			ret->items[ret->count++] = *(const uint32_t *)(task + pid_offset);
	}
	qsort(ret->items, ret->count, sizeof(*ret->items), compare_pids);
	return 0;
}

static void pids_clear(struct pids *p)
{
	free(p->items);
}

static bool has_pid(const struct pids *p, uint32_t pid)
{
	return bsearch(&pid, p->items, p->count, sizeof(pid), compare_pids) != NULL;
}

/* ---- processes ---- */

/* The main thread, the others, and those that ended. */
static int place_in_process(const struct task_record *task)
{
	return task->pid == 0 ? 2 : task->pid != task->tgid;
}

/* By process: pids may wrap, so a thread's can be smaller than the main thread's. */
static int compare_tasks(const void *a, const void *b)
{
	const struct task_record *x = a, *y = b;

	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	return place_in_process(x) - place_in_process(y);
}

/* As the kernel splits a process' time for getrusage(2): see split_time() of the kernel side. */
static void split_time(uint64_t user, uint64_t system, uint64_t exec, uint64_t said_user,
		       uint64_t said_system, struct task_counters *ret)
{
	if (said_user + said_system >= exec) {
		ret->user_ns = said_user;
		ret->system_ns = said_system;
		return;
	}
	if (system && !user)
		system = exec;
	else if (system)
		system = (uint64_t)((__uint128_t)system * exec / (user + system));
	system = MAX(system, said_system);
	if (exec - system < said_user)
		system = exec - said_user;
	ret->system_ns = system;
	ret->user_ns = exec - system;
}

/* Replace the raw user and system times of the @count threads of a process by the process' own, in
 * the first thread. */
static void settle_process(struct task_record *threads, size_t count)
{
	struct task_record *first = &threads[0];
	uint64_t user = first->ended_user_ns, system = first->ended_system_ns;
	uint64_t exec = first->ended_exec_ns;

	for (size_t i = 0; i < count; i++) {
		user += threads[i].counters.user_ns;
		system += threads[i].counters.system_ns;
		exec += threads[i].exec_ns;
		threads[i].counters.user_ns = threads[i].counters.system_ns = 0;
	}
	split_time(user, system, exec, first->said_user_ns, first->said_system_ns,
		   &first->counters);
}

/* ---- both lists ---- */

/* Tasks that ended, and that the totals do not hold yet.  What the iterator shows of them is
 * better. */
static int add_leaving(struct sums *t, const struct leaving_task *leaving, size_t count,
		       const struct pids *live, const struct pids *zombies, uint64_t now_ns)
{
	for (size_t i = 0; i < count; i++) {
		struct cgroup_tasks *item = get_item(t, leaving[i].cgroup);
		bool is_shown;

		if (!item)
			return -ENOMEM;
		is_shown = has_pid(live, leaving[i].pid);
		if (!is_shown)
			add_counters(&item->counters, &leaving[i].counters);
		if (is_shown ? !has_pid(zombies, leaving[i].pid)
			     : now_ns < leaving[i].ended_ns + TASK_SUMS_PATIENCE_NS)
			continue;
		item->ended++;
		item->crashed += leaving[i].crashed;
		item->unsettled--;
	}
	return 0;
}

/* With its threads that @ended; those that are @leaving are among them. */
static struct busiest_threads threads_of(const struct task_record *threads, size_t count,
					 const struct thread_levels *ended,
					 const struct pids *leaving)
{
	struct thread_levels levels = ended ? *ended : (struct thread_levels){};

	for (size_t i = 0; i < count; i++) {
		if (!has_pid(leaving, threads[i].pid))
			thread_levels_join(&levels, threads[i].exec_ns, threads[i].started_ns);
	}
	return thread_levels_busiest(&levels);
}

int task_bases_add(struct task_bases *b, const struct task_base *base)
{
	if (array_reserve(&b->items, &b->room, b->count, sizeof(*b->items)) < 0)
		return -ENOMEM;
	b->items[b->count++] = *base;
	return 0;
}

void task_bases_clear(struct task_bases *b)
{
	free(b->items);
	*b = (struct task_bases){};
}

/* Before anything is taken off. */
static int note_base(struct task_bases *bases, const struct task_record *task)
{
	const struct task_base base = { .cgroup = task->cgroup,
					.started_ns = task->started_ns,
					.pid = task->pid,
					.counters = task->counters };

	return task_bases_add(bases, &base);
}

/* The @count records of one process. */
static int add_process(struct sums *t, struct task_record *threads, size_t count,
		       const struct pids *leaving)
{
	const struct thread_levels *ended = threads[count - 1].pid ? NULL : &threads[--count].ended;
	struct busiest_threads busiest;
	struct cgroup_tasks *item;

	if (!count) /* freed while they were read */
		return 0;
	busiest = threads_of(threads, count, ended, leaving);
	settle_process(threads, count);
	for (size_t i = 0; i < count; i++) {
		item = get_item(t, threads[i].cgroup);
		if (!item || (t->bases && note_base(t->bases, &threads[i]) < 0))
			return -ENOMEM;
		for (size_t n = 0; n < TASK_COUNTERS; n++) {
			uint64_t *now = (uint64_t *)&threads[i].counters + n;

			*now -= MIN(*now, ((const uint64_t *)&threads[i].base)[n]);
		}
		add_counters(&item->counters, &threads[i].counters);
		note_uid(item, threads[i].uid);
		if (!has_pid(leaving, threads[i].pid))
			item->live++;
		if (i == 0)
			busiest_threads_raise(&item->busiest, &busiest);
	}
	return 0;
}

static int add_live(struct sums *t, struct task_record *live, size_t count,
		    const struct pids *leaving)
{
	size_t end;
	int r = 0;

	if (count)
		qsort(live, count, sizeof(*live), compare_tasks);
	for (size_t i = 0; r == 0 && i < count; i = end) {
		for (end = i + 1; end < count && live[end].tgid == live[i].tgid; end++)
			;
		r = add_process(t, &live[i], end - i, leaving);
	}
	return r;
}

int task_sums_add_tasks(struct sums *t, struct task_record *live, size_t live_count,
			const struct leaving_task *leaving, size_t leaving_count, uint64_t now_ns)
{
	_cleanup_(pids_clear) struct pids live_pids = {}, zombies = {}, leaving_pids = {};
	int r = list_pids(live, live_count, sizeof(*live), offsetof(struct task_record, pid), 0,
			  &live_pids);

	if (r >= 0)
		r = list_pids(leaving, leaving_count, sizeof(*leaving),
			      offsetof(struct leaving_task, pid), 0, &leaving_pids);
	if (r >= 0)
		r = list_pids(live, live_count, sizeof(*live), offsetof(struct task_record, pid),
			      offsetof(struct task_record, is_zombie), &zombies);
	if (r >= 0)
		r = add_leaving(t, leaving, leaving_count, &live_pids, &zombies, now_ns);
	return r < 0 ? r : add_live(t, live, live_count, &leaving_pids);
}

/* ---- as metrics ---- */

struct field {
	size_t counter;
	enum metric_id metric;
};

#define COUNTER(member) (offsetof(struct task_counters, member) / sizeof(uint64_t))

/* clang-format off */
static const struct field fields[] = {
	{ COUNTER(user_ns),              METRIC_CPU_USER },
	{ COUNTER(system_ns),            METRIC_CPU_SYSTEM },
	{ COUNTER(run_delay_ns),         METRIC_CPU_RUN_QUEUE },
	{ COUNTER(voluntary_switches),   METRIC_CPU_VOLUNTARY_SWITCHES },
	{ COUNTER(involuntary_switches), METRIC_CPU_INVOLUNTARY_SWITCHES },
	{ COUNTER(migrations),           METRIC_CPU_MIGRATIONS },
	{ COUNTER(minor_faults),         METRIC_MEMORY_MINOR_FAULTS },
	{ COUNTER(major_faults),         METRIC_MEMORY_MAJOR_FAULTS },
	{ COUNTER(rchar),                METRIC_IO_CHARS_READ },
	{ COUNTER(wchar),                METRIC_IO_CHARS_WRITTEN },
	{ COUNTER(syscr),                METRIC_IO_CALLS_READ },
	{ COUNTER(syscw),                METRIC_IO_CALLS_WRITTEN },
	{ COUNTER(read_bytes),           METRIC_IO_STORAGE_READ },
	{ COUNTER(write_bytes),          METRIC_IO_STORAGE_WRITTEN },
};

#define POLLS(member) (offsetof(struct polls, member) / sizeof(uint64_t))

static const struct field look_fields[] = {
	{ POLLS(polls),  METRIC_CPU_EMPTY_POLLS },
	{ POLLS(yields), METRIC_CPU_YIELDS },
	{ POLLS(ns),     METRIC_CPU_POLLING },
};
/* clang-format on */

static void add_fields(struct value values[METRIC_JOB_COUNT], const struct field *from,
		       size_t count, const uint64_t *counters)
{
	for (size_t i = 0; i < count; i++) {
		struct value *value = &values[from[i].metric];

		value->number += counters[from[i].counter];
		value->is_known = true;
	}
}

void task_metrics_add(struct value values[METRIC_JOB_COUNT], const struct task_counters *from)
{
	add_fields(values, fields, ARRAY_SIZE(fields), (const uint64_t *)from);
}

void task_times_add(struct value values[METRIC_JOB_COUNT], const struct task_times *from)
{
	const uint64_t *blocked = (const uint64_t *)&from->blocked;
	struct value *stolen = &values[METRIC_CPU_STOLEN];

	stolen->number += from->stolen;
	stolen->is_known = true;
	for (size_t cause = 0; cause < CAUSE_COUNT; cause++) {
		struct value *value = &values[cause_metric((enum cause)cause)];

		value->number += blocked[cause];
		value->is_known = true;
	}
}

void polls_add(struct value values[METRIC_JOB_COUNT], const struct polls *from, bool is_sampled)
{
	add_fields(values, look_fields, ARRAY_SIZE(look_fields) - !is_sampled,
		   (const uint64_t *)from);
}
