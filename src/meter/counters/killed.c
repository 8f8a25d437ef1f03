/* SPDX-License-Identifier: MIT */
#include "counters/killed.h"

#include <stdio.h>
#include <unistd.h>

#include "basic/clock.h"
#include "load/entries.h"
#include "basic/macro.h"
#include "load/objects.h"
#include "bpf/tasks.h"

struct visit {
	killed_visitor visit;
	void *context;
	uint64_t boot_ns, real_ns, page_bytes;
};

static struct value bytes_of(const struct oom_kill_entry *from, uint64_t pages, uint64_t page_bytes)
{
	return (struct value){ from->has_pages ? pages * page_bytes : 0, from->has_pages != 0 };
}

struct oom_kill killed_describe(const struct oom_kill_entry *from, uint64_t boot_ns,
				uint64_t real_ns, uint64_t page_bytes)
{
	uint64_t since_ns = boot_ns - MIN(boot_ns, from->killed_ns);
	struct oom_kill oom_kill = {
		.time_ns = real_ns - MIN(real_ns, since_ns),
		.pid = (int)from->pid,
		.uid = from->uid,
		.rss = bytes_of(from, from->anon_pages + from->file_pages + from->shmem_pages,
				page_bytes),
		.anon = bytes_of(from, from->anon_pages, page_bytes),
		.file = bytes_of(from, from->file_pages, page_bytes),
		.shmem = bytes_of(from, from->shmem_pages, page_bytes),
	};

	snprintf(oom_kill.command, sizeof(oom_kill.command), "%.*s", (int)sizeof(from->command),
		 from->command);
	return oom_kill;
}

static int visit_one(void *context, const void *key, const void *value)
{
	const struct visit *v = context;
	const struct cgroup_cpu *its = key;
	struct oom_kill oom_kill = killed_describe(value, v->boot_ns, v->real_ns, v->page_bytes);

	return v->visit(v->context, its->cgroup, &oom_kill);
}

int killed_visit(const struct objects *o, killed_visitor visit, void *context)
{
	struct visit v = { visit, context, clock_now_ns(CLOCK_BOOTTIME),
			   clock_now_ns(CLOCK_REALTIME), (uint64_t)sysconf(_SC_PAGESIZE) };
	int fd = objects_map_fd(o, OBJECT_TASKS, "oom_kills_by_task");

	return fd < 0 ? 0
		      : entries_visit(fd, sizeof(struct cgroup_cpu), sizeof(struct oom_kill_entry),
				      visit_one, &v);
}

static int count_one(void *count, const void *key UNUSED, const void *value)
{
	*(uint64_t *)count += 1 + ((const struct oom_kill_entry *)value)->more;
	return 0;
}

int killed_count(const struct objects *o, uint64_t *ret)
{
	int fd = objects_map_fd(o, OBJECT_TASKS, "oom_kills_by_task");

	*ret = 0;
	return fd < 0 ? 0
		      : entries_visit(fd, sizeof(struct cgroup_cpu), sizeof(struct oom_kill_entry),
				      count_one, ret);
}
