/* SPDX-License-Identifier: MIT */
#include "tallies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>

#include "cleanup.h"
#include "entries.h"
#include "macro.h"
#include "objects.h"

#define INDEX_MIN 64

void tallies_clear(struct tallies *t)
{
	free(t->items);
	free(t->index);
	*t = (struct tallies){};
}

/* ---- items by leaf ---- */

static uint32_t *find_slot(const struct tallies *t, uint64_t leaf)
{
	size_t i = leaf * UINT64_C(0x9E3779B97F4A7C15) >> 32;

	for (;; i++) {
		uint32_t *slot = &t->index[i & (t->index_size - 1)];

		if (!*slot || t->items[*slot - 1].leaf == leaf)
			return slot;
	}
}

static int grow_index(struct tallies *t)
{
	size_t size = t->index_size ? t->index_size * 2 : INDEX_MIN;
	uint32_t *index = calloc(size, sizeof(*index));

	if (!index)
		return -ENOMEM;
	free(t->index);
	t->index = index;
	t->index_size = size;
	for (size_t i = 0; i < t->count; i++)
		*find_slot(t, t->items[i].leaf) = (uint32_t)(i + 1);
	return 0;
}

static int grow_items(struct tallies *t)
{
	size_t room = t->room ? t->room * 2 : INDEX_MIN / 2;
	struct leaf_tasks *items = reallocarray(t->items, room, sizeof(*items));

	if (!items)
		return -ENOMEM;
	t->items = items;
	t->room = room;
	return 0;
}

/* NULL: no memory. */
static struct leaf_tasks *get_item(struct tallies *t, uint64_t leaf)
{
	uint32_t *slot;

	if ((t->count + 1) * 2 > t->index_size && grow_index(t) < 0)
		return NULL;
	if (t->count == t->room && grow_items(t) < 0)
		return NULL;
	slot = find_slot(t, leaf);
	if (!*slot) {
		t->items[t->count] = (struct leaf_tasks){ .leaf = leaf, .uid = UINT32_MAX };
		*slot = (uint32_t)++t->count;
	}
	return &t->items[*slot - 1];
}

static int compare_leaves(const void *a, const void *b)
{
	const struct leaf_tasks *x = a, *y = b;

	return (x->leaf > y->leaf) - (x->leaf < y->leaf);
}

void tallies_settle(struct tallies *t)
{
	free(t->index);
	t->index = NULL;
	t->index_size = 0;
	for (size_t i = 0; i < t->count; i++) {
		if (t->items[i].unsettled > INT64_MAX) /* ends that were before us */
			t->items[i].unsettled = 0;
	}
	if (t->count)
		qsort(t->items, t->count, sizeof(*t->items), compare_leaves);
}

/* ---- what is added to them ---- */

static void add_counters(struct task_counters *to, const struct task_counters *from)
{
	for (size_t i = 0; i < TASK_COUNTERS; i++)
		((uint64_t *)to)[i] += ((const uint64_t *)from)[i];
}

/* Of several the smallest, so that it does not change with the order of CPUs. */
static void note_uid(struct leaf_tasks *item, uint32_t uid)
{
	if (uid)
		item->uid = MIN(item->uid, uid);
}

int tallies_add_totals(struct tallies *t, uint64_t leaf, const struct task_totals *totals)
{
	struct leaf_tasks *item = get_item(t, leaf);

	if (!item)
		return -ENOMEM;
	add_counters(&item->counters, &totals->ended);
	item->ended += totals->frees;
	item->unsettled +=
		totals->exits - totals->frees; /* of one CPU it may be below 0, of all it is not */
	item->process_peak_pages = MAX(item->process_peak_pages, totals->process_peak_pages);
	note_uid(item, totals->uid);
	return 0;
}

/* By process, its main thread first: pids may wrap, so a thread's can be the smaller. */
static int compare_tasks(const void *a, const void *b)
{
	const struct task_record *x = a, *y = b;

	if (x->tgid != y->tgid)
		return x->tgid < y->tgid ? -1 : 1;
	return (x->pid != x->tgid) - (y->pid != y->tgid);
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

/* Turn the raw user and system of the @count threads of one process into the process' own, which
 * stand with the first. */
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

static void settle_processes(struct task_record *tasks, size_t count)
{
	size_t end;

	if (count)
		qsort(tasks, count, sizeof(*tasks), compare_tasks);
	for (size_t i = 0; i < count; i = end) {
		for (end = i + 1; end < count && tasks[end].tgid == tasks[i].tgid; end++)
			;
		settle_process(&tasks[i], end - i);
	}
}

static void take_off_base(struct task_record *task)
{
	uint64_t *now = (uint64_t *)&task->counters;
	const uint64_t *base = (const uint64_t *)&task->base;

	for (size_t i = 0; i < TASK_COUNTERS; i++)
		now[i] -= MIN(now[i], base[i]);
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

static int list_pids(const void *tasks, size_t count, size_t size, size_t pid_offset,
		     struct pids *ret)
{
	ret->count = count;
	ret->items = calloc(MAX(count, (size_t)1), sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		ret->items[i] = *(const uint32_t *)((const char *)tasks + i * size + pid_offset);
	qsort(ret->items, count, sizeof(*ret->items), compare_pids);
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

/* Tasks that ended, and that neither the iterator shows (any more) nor the totals hold (yet). */
static int add_leaving(struct tallies *t, const struct leaving_task *leaving, size_t count,
		       const struct pids *live, uint64_t now_ns)
{
	for (size_t i = 0; i < count; i++) {
		struct leaf_tasks *item = get_item(t, leaving[i].leaf);

		if (!item)
			return -ENOMEM;
		if (has_pid(live, leaving[i].pid))
			continue;
		add_counters(&item->counters, &leaving[i].counters);
		if (now_ns < leaving[i].ended_ns + TALLIES_PATIENCE_NS)
			continue;
		item->ended++;
		item->unsettled--;
	}
	return 0;
}

static int add_live(struct tallies *t, struct task_record *live, size_t count,
		    const struct pids *leaving)
{
	settle_processes(live, count);
	for (size_t i = 0; i < count; i++) {
		struct leaf_tasks *item = get_item(t, live[i].leaf);

		if (!item)
			return -ENOMEM;
		take_off_base(&live[i]);
		add_counters(&item->counters, &live[i].counters);
		note_uid(item, live[i].uid);
		if (!has_pid(leaving, live[i].pid))
			item->live++;
	}
	return 0;
}

int tallies_add_tasks(struct tallies *t, struct task_record *live, size_t live_count,
		      const struct leaving_task *leaving, size_t leaving_count, uint64_t now_ns)
{
	_cleanup_(pids_clear) struct pids live_pids = {}, leaving_pids = {};
	int r = list_pids(live, live_count, sizeof(*live), offsetof(struct task_record, pid),
			  &live_pids);

	if (r >= 0)
		r = list_pids(leaving, leaving_count, sizeof(*leaving),
			      offsetof(struct leaving_task, pid), &leaving_pids);
	if (r >= 0)
		r = add_leaving(t, leaving, leaving_count, &live_pids, now_ns);
	return r < 0 ? r : add_live(t, live, live_count, &leaving_pids);
}

/* ---- out of the kernel ---- */

static int visit_totals(void *tallies, const void *key, const void *value)
{
	return tallies_add_totals(tallies, ((const struct leaf_cpu *)key)->leaf, value);
}

static int read_totals(const struct objects *o, struct tallies *to)
{
	return entries_visit(objects_map_fd(o, OBJECT_TASKS, "task_totals"),
			     sizeof(struct leaf_cpu), sizeof(struct task_totals), visit_totals, to);
}

static int visit_settled(void *sum, const void *key UNUSED, const void *value)
{
	const struct task_totals *totals = value;

	*(uint64_t *)sum += totals->exits - totals->frees;
	return 0;
}

bool tallies_are_settled(const struct objects *o)
{
	uint64_t sum = 0;

	(void)entries_visit(objects_map_fd(o, OBJECT_TASKS, "task_totals"), sizeof(struct leaf_cpu),
			    sizeof(struct task_totals), visit_settled, &sum);
	return sum == 0;
}

/* All the iterator's records, that the caller frees.  Without an iterator there are none. */
static int read_live_tasks(const struct objects *o, struct task_record **ret, size_t *ret_count)
{
	int link = objects_link_fd(o, "read_tasks");
	_cleanup_close_ int fd = -EBADF;
	_cleanup_free_ char *buffer = NULL;
	size_t used = 0, size = 0;

	if (link < 0)
		return 0;
	fd = bpf_iter_create(link);
	if (fd < 0)
		return fd;
	for (;;) {
		ssize_t n;

		if (size - used < 16384) {
			char *larger = realloc(buffer, size = size * 2 + 65536);

			if (!larger)
				return -ENOMEM;
			buffer = larger;
		}
		n = read(fd, buffer + used, size - used);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	*ret = (struct task_record *)TAKE_PTR(buffer);
	*ret_count = used / sizeof(struct task_record);
	return 0;
}

struct leaving_list {
	struct leaving_task *items;
	size_t count, room;
};

static void leaving_list_clear(struct leaving_list *l)
{
	free(l->items);
}

static int visit_leaving(void *list, const void *key UNUSED, const void *value)
{
	struct leaving_list *l = list;

	if (l->count == l->room) {
		size_t room = l->room ? l->room * 2 : 64;
		struct leaving_task *items = reallocarray(l->items, room, sizeof(*items));

		if (!items)
			return -ENOMEM;
		l->items = items;
		l->room = room;
	}
	l->items[l->count++] = *(const struct leaving_task *)value;
	return 0;
}

int tallies_read(const struct objects *o, struct tallies *ret)
{
	_cleanup_(leaving_list_clear) struct leaving_list leaving = {};
	_cleanup_(tallies_clear) struct tallies t = {};
	_cleanup_free_ struct task_record *live = NULL;
	size_t live_count = 0;
	struct timespec now;
	int r;

	clock_gettime(CLOCK_BOOTTIME, &now);
	/* The totals before the others: a task that is freed between is missed this time, and not
	 * counted twice. */
	r = read_totals(o, &t);
	if (r >= 0)
		r = read_live_tasks(o, &live, &live_count);
	if (r >= 0)
		r = entries_visit(objects_map_fd(o, OBJECT_TASKS, "leaving_tasks"),
				  sizeof(uint64_t), sizeof(struct leaving_task), visit_leaving,
				  &leaving);
	if (r >= 0)
		r = tallies_add_tasks(&t, live, live_count, leaving.items, leaving.count,
				      (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
	if (r < 0)
		return r;
	tallies_settle(&t);
	*ret = t;
	t = (struct tallies){};
	return 0;
}
