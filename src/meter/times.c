/* SPDX-License-Identifier: MIT */
#include "times.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "cleanup.h"
#include "entries.h"
#include "objects.h"
#include "tasks.h"

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
	const struct leaf_cpu *leaf = key;
	struct visit *v = context;

	return v->visit(v->context, leaf->leaf, leaf->cpu, value);
}

int times_visit(const struct objects *o, times_visitor visit, void *context)
{
	struct visit v = { visit, context };
	int fd = objects_map_fd(o, OBJECT_TIME, "task_times");

	if (fd < 0)
		return 0;
	return entries_visit(fd, sizeof(struct leaf_cpu), sizeof(struct task_times), visit_entry, &v);
}

/* ---- cores ---- */

struct cores {
	uint64_t *on_ns; /* by CPU */
	size_t count;
	bool has_shared;
};

static void cores_clear(struct cores *c)
{
	free(c->on_ns);
}

static int add_core(void *context, uint64_t leaf UNUSED, uint32_t cpu, const struct task_times *times)
{
	struct cores *c = context;

	if (cpu >= c->count)
		c->has_shared = true;
	else
		c->on_ns[cpu] += times->on;
	return 0;
}

/* Move those that were touched to the front; returns how many they are. */
static size_t choose_touched(struct cores *c, uint64_t elapsed_ns)
{
	size_t touched = 0;

	for (size_t cpu = 0; cpu < c->count; cpu++) {
		if (c->on_ns[cpu] && c->on_ns[cpu] >= elapsed_ns / 100 * CORES_TOUCHED_PERCENT)
			c->on_ns[touched++] = c->on_ns[cpu];
	}
	return touched;
}

int times_read_cores(const struct objects *o, uint64_t elapsed_ns, struct evenness *ret)
{
	_cleanup_(cores_clear) struct cores c = { .count = sizing_cpus() };
	int r;

	*ret = (struct evenness){};
	if (objects_map_fd(o, OBJECT_TIME, "task_times") < 0)
		return 0;
	c.on_ns = calloc(c.count, sizeof(*c.on_ns));
	if (!c.on_ns)
		return -ENOMEM;
	r = times_visit(o, add_core, &c);
	if (r < 0 || c.has_shared)
		return r < 0 ? r : 0;
	c.count = choose_touched(&c, elapsed_ns);
	*ret = evenness_of(c.on_ns, c.count);
	return 0;
}
