/* SPDX-License-Identifier: MIT */
#include "counters/killed.h"

#include <stdio.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "load/entries.h"
#include "basic/macro.h"
#include "load/objects.h"

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

int killed_visit(const struct objects *o, killed_visitor visit, void *context)
{
	const uint64_t boot_ns = clock_now_ns(CLOCK_BOOTTIME),
		       real_ns = clock_now_ns(CLOCK_REALTIME);
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	_cleanup_(entries_end) struct entries e = objects_entries(o, OBJECT_TASKS,
								  "oom_kills_by_task");
	int r = 0;

	while (e.fd >= 0 && r >= 0 && (r = entries_next(&e)) > 0) {
		const struct oom_kill kill = killed_describe(e.value, boot_ns, real_ns, page_bytes);

		r = visit(context, ((const struct cgroup_cpu *)e.key)->cgroup, &kill);
	}
	return r;
}

int killed_count(const struct objects *o, uint64_t *ret)
{
	_cleanup_(entries_end) struct entries e = objects_entries(o, OBJECT_TASKS,
								  "oom_kills_by_task");
	int r = 0;

	*ret = 0;
	while (e.fd >= 0 && (r = entries_next(&e)) > 0)
		*ret += 1 + ((const struct oom_kill_entry *)e.value)->more;
	return r;
}
