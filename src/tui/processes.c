/* SPDX-License-Identifier: MIT */
#include "tui/processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/dir.h"
#include "cgroup/hierarchy.h"
#include "basic/macro.h"
#include "basic/parse.h"

#define GROUPS_MAX 16384 /* that we remember... */
#define GROUPS_NS                                                                                  \
	UINT64_C(30000000000) /* ...and those of no job for how long: one may become ours when its \
				 user is known */
#define CGROUP_TEXT_MAX 65536

struct known_group {
	char *path;
	bool is_job;
	struct process_place place;
};

struct processes_reader {
	struct processes_options options;
	struct known_group **groups; /* by path; stay where they are until all are forgotten */
	size_t group_count, group_room;
	struct known_group **earlier; /* that were forgotten, and that the last list still points to
				       */
	size_t earlier_count;
	int status; /* < 0: the owners of groups are unknown */
	uint64_t asked_ns; /* when the first of them was asked for, by CLOCK_BOOTTIME */
	uint64_t page_bytes, tick_ns;
};

struct processes_reader *processes_open(const struct processes_options *options)
{
	struct processes_reader *r = calloc(1, sizeof(*r));
	long page = sysconf(_SC_PAGESIZE), ticks = sysconf(_SC_CLK_TCK);

	if (!r)
		return NULL;
	r->options = *options;
	r->page_bytes = page > 0 ? (uint64_t)page : 4096;
	r->tick_ns = 1000000000 / (ticks > 0 ? (uint64_t)ticks : 100);
	return r;
}

static void free_group(struct known_group *group)
{
	if (!group)
		return;
	free(group->path);
	free(group->place.manager);
	free(group->place.id);
	free(group->place.step);
	free(group->place.task);
	free(group);
}

static void free_groups(struct known_group **groups, size_t count)
{
	for (size_t i = 0; groups && i < count; i++)
		free_group(groups[i]);
	free(groups);
}

static void free_earlier(struct processes_reader *r)
{
	free_groups(r->earlier, r->earlier_count);
	r->earlier = NULL;
	r->earlier_count = 0;
}

struct processes_reader *processes_close(struct processes_reader *r)
{
	if (!r)
		return NULL;
	free_groups(r->groups, r->group_count);
	free_earlier(r);
	free(r);
	return NULL;
}

void processes_clear(struct processes *p)
{
	free(p->items);
	*p = (struct processes){};
}

/* ---- one process ---- */

/* Numbers of proc/PID/stat behind the state, as proc(5) counts them from 1. */
enum {
	STAT_FIRST = 4,
	STAT_USER = 14,
	STAT_SYSTEM = 15,
	STAT_THREADS = 20,
	STAT_START = 22,
	STAT_RESIDENT = 24
};

static int parse_numbers(const char *p, uint64_t ret[STAT_RESIDENT + 1])
{
	for (int i = STAT_FIRST; i <= STAT_RESIDENT; i++) {
		p += strspn(p, " ");
		p += *p == '-'; /* a terminal, a priority: none of those that we take */
		if (parse_leading_u64(&p, &ret[i]) < 0 || (*p && *p != ' ' && *p != '\n'))
			return -EINVAL;
	}
	return 0;
}

int process_parse_stat(const char *text, struct process *ret)
{
	const char *begin = strchr(text, '('), *end = strrchr(text, ')'); /* the last: a name may
									     hold one too */
	uint64_t numbers[STAT_RESIDENT + 1], pid;
	int r;

	if (!begin || !end || end < begin || parse_leading_u64(&text, &pid) < 0 || pid > INT32_MAX)
		return -EINVAL;
	if (end[1] != ' ' || end[2] == '\0' || end[3] != ' ')
		return -EINVAL;
	r = parse_numbers(end + 4, numbers);
	if (r < 0)
		return r;
	ret->pid = (pid_t)pid;
	snprintf(ret->name, sizeof(ret->name), "%.*s",
		 (int)MIN(end - begin - 1, PROCESS_NAME_SIZE - 1), begin + 1);
	ret->state = end[2];
	ret->cpu_ns = numbers[STAT_USER] + numbers[STAT_SYSTEM]; /* in ticks */
	ret->threads = numbers[STAT_THREADS];
	ret->start_ns = numbers[STAT_START];
	ret->resident_bytes = numbers[STAT_RESIDENT]; /* in pages */
	return 0;
}

/* For others' processes they are unknown. */
static void read_io(const struct processes_reader *r, struct process *to)
{
	char path[64], text[1024];
	uint64_t number;

	snprintf(path, sizeof(path), "proc/%d/io", to->pid);
	if (file_read_small(r->options.root_fd, path, text, sizeof(text)) < 0)
		return;
	if (parse_keyed_u64(text, "rchar", ':', &number) == 0 && number <= VALUE_MAX)
		to->read = (struct value){ number, true };
	if (parse_keyed_u64(text, "wchar", ':', &number) == 0 && number <= VALUE_MAX)
		to->written = (struct value){ number, true };
}

/* ---- the job of a process ---- */

/* Its position; *ret: the entry, if it exists. */
static size_t find_group(const struct processes_reader *r, const char *path,
			 const struct known_group **ret)
{
	size_t low = 0, high = r->group_count;

	*ret = NULL;
	while (low < high && !*ret) {
		size_t middle = (low + high) / 2;
		const struct known_group *group = r->groups[middle];
		int order = strcmp(path, group->path);

		if (order == 0)
			*ret = group;
		else if (order > 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int insert_group(struct processes_reader *r, size_t at, struct known_group *group)
{
	if (array_reserve(&r->groups, &r->group_room, r->group_count, sizeof(*r->groups)) < 0)
		return -ENOMEM;
	memmove(&r->groups[at + 1], &r->groups[at], (r->group_count - at) * sizeof(*r->groups));
	r->groups[at] = group;
	r->group_count++;
	return 0;
}

/* Takes @path over. NULL: it belongs to no job, or that is unknown, or no memory. */
static const struct process_place *place_of(struct processes_reader *r, char *path)
{
	const struct known_group *known;
	size_t at = find_group(r, path, &known);
	struct known_group *group;

	if (known) {
		free(path);
		return known->is_job ? &known->place : NULL;
	}
	group = calloc(1, sizeof(*group));
	r->status = group ? r->options.locate(r->options.context, path, &group->place) : -ENOMEM;
	if (r->status == -ENOENT || r->status == -EACCES || r->status == -EPROTO) /* of none, then
										   */
		r->status = 0;
	else if (r->status == 0)
		group->is_job = true;
	if (r->status == 0)
		r->status = insert_group(r, at, group);
	if (r->status < 0) {
		free_group(group);
		free(path);
		return NULL;
	}
	group->path = path;
	return group->is_job ? &group->place : NULL;
}

static const struct process_place *locate(struct processes_reader *r, const char *pid)
{
	_cleanup_free_ char *cgroups = NULL;
	char path[64], *group = NULL;

	snprintf(path, sizeof(path), "proc/%.20s/cgroup", pid);
	if (file_read(r->options.root_fd, path, CGROUP_TEXT_MAX, &cgroups, NULL) < 0 ||
	    hierarchy_find_path(r->options.hierarchy, cgroups, &group) < 0)
		return NULL;
	return place_of(r, group);
}

/* False: it is of no job, or gone. */
static bool read_process(struct processes_reader *r, const char *pid, struct process *ret)
{
	char path[64], text[2048];

	*ret = (struct process){ .place = locate(r, pid) };
	if (!ret->place)
		return false;
	snprintf(path, sizeof(path), "proc/%.20s/stat", pid);
	if (file_read_small(r->options.root_fd, path, text, sizeof(text)) < 0 ||
	    process_parse_stat(text, ret) < 0)
		return false;
	ret->cpu_ns *= r->tick_ns;
	ret->start_ns *= r->tick_ns;
	ret->resident_bytes *= r->page_bytes;
	read_io(r, ret);
	return true;
}

static int compare_pids(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

int processes_read(struct processes_reader *r, struct processes *ret, struct error *err)
{
	_cleanup_(dir_clear) struct dir names = {};
	struct processes list = { .boot_ns = clock_now_ns(CLOCK_BOOTTIME) };
	int status = dir_read(r->options.root_fd, "proc", PROCESSES_MAX, &names), pid;

	if (status < 0)
		return error_set_errno(err, status, "cannot list the processes");
	r->status = 0;
	if (list.boot_ns - r->asked_ns > GROUPS_NS) {
		size_t count = 0;

		/* Those of no job: one may have become ours.  Of a job groups stay, and nobody need
		 * be asked again.
		 */
		for (size_t i = 0; i < r->group_count; i++) {
			if (r->groups[i]->is_job)
				r->groups[count++] = r->groups[i];
			else
				free_group(r->groups[i]);
		}
		r->group_count = count;
		r->asked_ns = list.boot_ns;
	}
	if (r->group_count >= GROUPS_MAX && !r->earlier) {
		r->earlier = r->groups;
		r->earlier_count = r->group_count;
		r->groups = NULL;
		r->group_count = r->group_room = 0;
	}
	list.items = calloc(names.count + 1, sizeof(*list.items));
	if (!list.items)
		return error_set_errno(err, ENOMEM, "cannot list the processes");
	for (size_t i = 0; i < names.count && r->status == 0; i++) {
		if (parse_int(names.names[i], 1, INT32_MAX, &pid) == 0 &&
		    read_process(r, names.names[i], &list.items[list.count]))
			list.count++;
	}
	if (r->status < 0) {
		processes_clear(&list);
		return error_set_errno(err, r->status, "cannot find the owners of the processes");
	}
	qsort(list.items, list.count, sizeof(*list.items), compare_pids);
	free_earlier(r);
	*ret = list;
	return 0;
}

const struct process *processes_find(const struct processes *p, pid_t pid, uint64_t start_ns)
{
	const struct process key = { .pid = pid };
	const struct process *found = bsearch(&key, p->items, p->count, sizeof(key), compare_pids);

	return found && found->start_ns == start_ns ? found : NULL;
}
