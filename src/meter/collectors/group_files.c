/* SPDX-License-Identifier: MIT */
/* The group's own files: what the kernel keeps of a cgroup, v1 and v2. */
#include <errno.h>
#include <stdlib.h>

#include "cleanup.h"
#include "collectors.h"
#include "file.h"
#include "macro.h"
#include "parse.h"

/* clang-format off */
static const struct field {
	enum controller controller;
	const char *v1_file, *v1_key; /* no key: the file is one number */
	const char *v2_file, *v2_key;
	unsigned int v1_scale, v2_scale; /* to the metric's stored unit */
	enum metric_id metric;
	bool is_fallback;             /* only where the tasks did not say */
} fields[] = {
	{ CONTROLLER_MEMORY, "memory.max_usage_in_bytes", NULL, "memory.peak", NULL, 1, 1, METRIC_MEMORY_PEAK, false },
	{ CONTROLLER_MEMORY, "memory.oom_control", "oom_kill", "memory.events", "oom_kill", 1, 1, METRIC_MEMORY_OOM_KILLS, false },
	{ CONTROLLER_MEMORY, "memory.stat", "total_pgmajfault", "memory.stat", "pgmajfault", 1, 1, METRIC_MEMORY_MAJOR_FAULTS, true },
	{ CONTROLLER_CPU, "cpu.stat", "throttled_time", "cpu.stat", "throttled_usec", 1, 1000, METRIC_CPU_THROTTLED, false },
	{ CONTROLLER_CPUACCT, "cpuacct.usage_user", NULL, "cpu.stat", "user_usec", 1, 1000, METRIC_CPU_USER, true },
	{ CONTROLLER_CPUACCT, "cpuacct.usage_sys", NULL, "cpu.stat", "system_usec", 1, 1000, METRIC_CPU_SYSTEM, true },
};
/* clang-format on */

static int read_field(const struct group *g, const struct field *f, bool is_v2, uint64_t *ret)
{
	const char *file = is_v2 ? f->v2_file : f->v1_file, *key = is_v2 ? f->v2_key : f->v1_key;
	int fd = group_fd(g, f->controller), r;
	_cleanup_free_ char *text = NULL;

	if (fd < 0)
		return -ENOENT;
	if (!key)
		return file_read_u64(fd, file, ret);
	r = file_read(fd, file, 1 << 20, &text, NULL);
	return r < 0 ? r : parse_keyed_u64(text, key, '\0', ret);
}

void collect_group_files(const struct group *g, struct reading *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct field *f = &fields[i];
		uint64_t number;

		if (f->is_fallback && to->values[f->metric].is_known)
			continue;
		if (read_field(g, f, group_is_v2(g), &number) < 0)
			continue; /* absent, which is not zero */
		number *= group_is_v2(g) ? f->v2_scale : f->v1_scale;
		reading_set(to, f->metric, number);
	}
}
