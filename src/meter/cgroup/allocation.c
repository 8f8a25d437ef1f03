/* SPDX-License-Identifier: MIT */
#include "cgroup/allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/cpulist.h"
#include "basic/file.h"
#include "basic/fnv.h"
#include "basic/macro.h"
#include "basic/parse.h"

#define LEVELS_MAX 64
#define CPULIST_TEXT_MAX (64u << 10)

/* clang-format off */
const struct allocation_source allocation_sources[] = {
	{ METRIC_CPU_ALLOCATED, CONTROLLER_CPUSET, "cpuset.effective_cpus", NULL, "cpuset.cpus.effective" },
	{ METRIC_CPU_ALLOCATED, CONTROLLER_CPU, "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.max" },
	{ METRIC_MEMORY_LIMIT, CONTROLLER_MEMORY, "memory.limit_in_bytes", NULL, "memory.max" },
};
/* clang-format on */
const size_t allocation_source_count = ARRAY_SIZE(allocation_sources);

#define CPUSET (allocation_sources[0])
#define QUOTA (allocation_sources[1])
#define MEMORY (allocation_sources[2])

/* "0-3,8" and how many they are. */
static int read_affinity(char **ret_list, size_t *ret_count)
{
	_cleanup_free_ cpu_set_t *set = CPU_ALLOC(CPULIST_MAX);
	size_t size = CPU_ALLOC_SIZE(CPULIST_MAX);
	struct cpulist list = {};
	int left;

	if (!set)
		return -ENOMEM;
	if (sched_getaffinity(0, size, set) < 0)
		return -errno;
	left = CPU_COUNT_S(size, set);
	for (unsigned int cpu = 0; left > 0; cpu++) {
		if (!CPU_ISSET_S(cpu, size, set))
			continue;
		cpulist_set(&list, cpu);
		left--;
	}
	*ret_list = cpulist_format(&list);
	*ret_count = cpulist_count(&list);
	return *ret_list ? 0 : -ENOMEM;
}

/* Of one group: its CPU quota in thousandths of a core, as v1's two files or v2's "QUOTA PERIOD" in
 * us have it.  False: none. */
static bool read_quota(int fd, bool is_v2, uint64_t *ret)
{
	char text[64], *rest = text, *first, *second;
	uint64_t quota, period;

	if (is_v2) {
		if (file_read_one_line(fd, QUOTA.v2_file, text, sizeof(text)) < 0)
			return false;
		first = parse_next_word(&rest);
		second = parse_next_word(&rest);
		if (!first || parse_u64(first, &quota) < 0 || /* "max" */
		    !second || parse_u64(second, &period) < 0)
			return false;
	} else if (file_read_u64(fd, QUOTA.v1_file, &quota) < 0 || /* -1: none, and no u64 */
		   file_read_u64(fd, QUOTA.v1_other, &period) < 0) {
		return false;
	}
	if (!period || __builtin_mul_overflow(quota, 1000, &quota))
		return false;
	*ret = quota / period;
	return true;
}

static bool read_memory(int fd, bool is_v2, uint64_t *ret)
{
	return file_read_u64(fd, is_v2 ? MEMORY.v2_file : MEMORY.v1_file, ret) >= 0;
}

/* Calls @visit with the group @own below @mount and with those above it, until it returns true. */
static void walk_up(int root_fd, const char *mount, const char *own,
		    bool (*visit)(int fd, void *data), void *data)
{
	char path[4096];
	size_t base;

	if (!mount || (size_t)snprintf(path, sizeof(path), ".%s%s", mount, own) >= sizeof(path))
		return;
	base = strlen(mount) + 1;
	for (int level = 0; level < LEVELS_MAX; level++) {
		_cleanup_close_ int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		char *slash = strrchr(path, '/');

		if (fd >= 0 && visit(fd, data))
			return;
		if (!slash || (size_t)(slash - path) < base)
			return;
		*slash = '\0';
	}
}

struct limit {
	bool (*read)(int fd, bool is_v2, uint64_t *ret);
	bool is_v2;
	uint64_t least;
};

static bool take_less(int fd, void *data)
{
	struct limit *limit = data;
	uint64_t one;

	if (limit->read(fd, limit->is_v2, &one))
		limit->least = MIN(limit->least, one);
	return false;
}

/* The least limit of the group @own below @mount and of those above it; UINT64_MAX: none. */
static uint64_t least_up(int root_fd, const char *mount, const char *own, bool is_v2,
			 bool (*read)(int fd, bool is_v2, uint64_t *ret))
{
	struct limit limit = { read, is_v2, UINT64_MAX };

	walk_up(root_fd, mount, own, take_less, &limit);
	return limit.least;
}

static uint64_t least_of_own(int root_fd, const struct hierarchy *h, enum controller c,
			     bool (*read)(int fd, bool is_v2, uint64_t *ret))
{
	uint64_t v1 = least_up(root_fd, h->mount[c], h->own[c], false, read);

	return MIN(v1, least_up(root_fd, h->v2_mount, h->v2_own, true, read));
}

static uint64_t least_of_group(int root_fd, const struct hierarchy *h, const char *path,
			       enum controller c, bool (*read)(int fd, bool is_v2, uint64_t *ret))
{
	const char *mount, *below;

	return hierarchy_find_place(h, c, path, &mount, &below)
		       ? least_up(root_fd, mount, below, h->is_v2, read)
		       : UINT64_MAX;
}

static uint64_t machine_bytes(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

int allocation_read(int root_fd, const struct hierarchy *h, struct reading *to, char **ret_cpus)
{
	uint64_t quota = UINT64_MAX, memory = UINT64_MAX;
	size_t cores = 0;
	int r = read_affinity(ret_cpus, &cores);

	if (r < 0)
		return r;
	if (h) {
		quota = least_of_own(root_fd, h, CONTROLLER_CPU, read_quota);
		memory = least_of_own(root_fd, h, CONTROLLER_MEMORY, read_memory);
	}
	reading_set(to, METRIC_CPU_ALLOCATED, MIN(quota, (uint64_t)cores * 1000));
	/* A run has no group of its own that would count it.  Root's command may make one that has
	 * a quota, after this. */
	if (h && quota == UINT64_MAX && geteuid() != 0 &&
	    !to->values[METRIC_CPU_THROTTLED].is_known)
		reading_set(to, METRIC_CPU_THROTTLED, 0);
	if (memory < machine_bytes())
		reading_set(to, METRIC_MEMORY_LIMIT, memory);
	return 0;
}

/* The CPUs that a file lists; false: it lists none. */
static bool read_cpus(int dir_fd, const char *file, char **ret, size_t *ret_count)
{
	_cleanup_free_ char *text = NULL;
	struct cpulist list = {};

	if (file_read(dir_fd, file, CPULIST_TEXT_MAX, &text, NULL) < 0)
		return false;
	if (cpulist_parse(text, &list) < 0 || !cpulist_count(&list))
		return false;
	*ret_count = cpulist_count(&list);
	*ret = cpulist_format(&list);
	return true;
}

struct cpuset {
	const char *file;
	char *cpus;
	size_t count; /* 0: none was found */
};

static bool take_nearest(int fd, void *data)
{
	struct cpuset *set = data;

	return read_cpus(fd, set->file, &set->cpus, &set->count);
}

static int read_cpuset(int root_fd, const struct hierarchy *h, const char *path, struct cpuset *ret)
{
	struct cpuset set = { .file = h->is_v2 ? CPUSET.v2_file : CPUSET.v1_file };
	const char *mount, *below;

	if (hierarchy_find_place(h, CPUSET.controller, path, &mount, &below))
		walk_up(root_fd, mount, below, take_nearest, &set);
	if (!set.count)
		(void)read_cpus(root_fd, "sys/devices/system/cpu/online", &set.cpus, &set.count);
	*ret = set;
	return set.count && !set.cpus ? -ENOMEM : 0;
}

int allocation_read_group(int root_fd, const struct hierarchy *h, const char *path,
			  struct allocation *ret)
{
	uint64_t cores = least_of_group(root_fd, h, path, CONTROLLER_CPU, read_quota);
	uint64_t memory = least_of_group(root_fd, h, path, CONTROLLER_MEMORY, read_memory);
	struct cpuset set;
	int r = read_cpuset(root_fd, h, path, &set);

	if (r < 0)
		return r;
	if (set.count)
		cores = MIN(cores, (uint64_t)set.count * 1000);
	*ret = (struct allocation){
		.cores = { cores == UINT64_MAX ? 0 : cores, cores != UINT64_MAX },
		.memory = { memory < machine_bytes() ? memory : 0, memory < machine_bytes() },
		.cpus = set.cpus,
	};
	return 0;
}

int allocation_refresh(int root_fd, const struct hierarchy *h, const char *path, uint64_t now_ns,
		       struct allocation *a)
{
	struct allocation now;
	uint64_t wait_ns;
	int r;

	if (a->read_ns && now_ns - a->read_ns < a->wait_ns)
		return 0;
	/* Groups that are met together are not read together ever after. */
	wait_ns = a->read_ns ? MIN(a->wait_ns * 2, ALLOCATION_AGE_MAX_NS)
			     : ALLOCATION_AGE_NS / 2 +
				       fnv_text(FNV_BEGIN, path) % (ALLOCATION_AGE_NS / 2);
	r = allocation_read_group(root_fd, h, path, &now);
	if (r < 0)
		return r;
	allocation_clear(a);
	*a = now;
	a->read_ns = now_ns;
	a->wait_ns = wait_ns;
	return 1;
}

void allocation_clear(struct allocation *a)
{
	free(a->cpus);
	*a = (struct allocation){};
}
