/* SPDX-License-Identifier: MIT */
#include "counters/times.h"

#include <errno.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "basic/cleanup.h"
#include "load/entries.h"
#include "load/objects.h"
#include "bpf/tasks.h"

int times_charge_open(const struct objects *o)
{
	int link = objects_link_fd(o, "charge_tasks");
	_cleanup_close_ int fd = -EBADF;
	char nothing[64];
	ssize_t n;

	if (link < 0)
		return 0;
	fd = bpf_iter_create(link);
	if (fd < 0)
		return fd;
	do
		n = read(fd, nothing, sizeof(nothing));
	while (n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN)));
	return n < 0 ? -errno : 0;
}

struct visit {
	times_visitor visit;
	void *context;
};

static int visit_entry(void *context, const void *key, const void *value)
{
	const struct cgroup_cpu *cgroup = key;
	struct visit *v = context;

	return v->visit(v->context, cgroup->cgroup, cgroup->cpu, value);
}

int times_visit(const struct objects *o, times_visitor visit, void *context)
{
	struct visit v = { visit, context };
	int fd = objects_map_fd(o, OBJECT_TIME, "task_times");

	if (fd < 0)
		return 0;
	return entries_visit(fd, sizeof(struct cgroup_cpu), sizeof(struct task_times), visit_entry,
			     &v);
}
