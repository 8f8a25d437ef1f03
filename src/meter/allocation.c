/* SPDX-License-Identifier: MIT */
#include "allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "cpulist.h"
#include "file.h"
#include "macro.h"
#include "parse.h"

#define LEVELS_MAX 64

/* "0-3,8" and how many they are. */
static int read_affinity(pid_t pid, char **ret_list, size_t *ret_count)
{
	_cleanup_free_ cpu_set_t *set = CPU_ALLOC(CPULIST_MAX);
	size_t size = CPU_ALLOC_SIZE(CPULIST_MAX);
	struct cpulist list = {};
	int left;

	if (!set)
		return -ENOMEM;
	if (sched_getaffinity(pid, size, set) < 0)
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

/* In thousandths of a core.  -EINVAL: that is no quota. */
static int set_cores(uint64_t quota, uint64_t period, uint64_t *ret)
{
	if (!period || __builtin_mul_overflow(quota, 1000, &quota))
		return -EINVAL;
	*ret = quota / period;
	return 0;
}

/* "QUOTA PERIOD" or "max PERIOD" in us, as v2's cpu.max has it. */
static int parse_cpu_max(char *text, uint64_t *ret)
{
	uint64_t quota, period;
	char *word;

	text[strcspn(text, "\n")] = '\0';
	word = parse_next_word(&text);
	if (!word || parse_u64(word, &quota) < 0)
		return -ENODATA;
	word = parse_next_word(&text);
	if (!word || parse_u64(word, &period) < 0)
		return -EINVAL;
	return set_cores(quota, period, ret);
}

static int read_v1_quota(int fd, uint64_t *ret)
{
	uint64_t quota, period;

	if (file_read_u64(fd, "cpu.cfs_quota_us", &quota) < 0 || /* -1: none, and no u64 */
	    file_read_u64(fd, "cpu.cfs_period_us", &period) < 0)
		return -ENODATA;
	return set_cores(quota, period, ret);
}

static int read_v2_quota(int fd, uint64_t *ret)
{
	char text[64];

	if (file_read_small(fd, "cpu.max", text, sizeof(text)) < 0)
		return -ENODATA;
	return parse_cpu_max(text, ret);
}

static int read_v1_memory(int fd, uint64_t *ret)
{
	return file_read_u64(fd, "memory.limit_in_bytes", ret);
}

static int read_v2_memory(int fd, uint64_t *ret)
{
	return file_read_u64(fd, "memory.max", ret);
}

/* The least of what @read_one says of the group @own below @mount and of those above it. */
static uint64_t least_up(int root_fd, const char *mount, const char *own,
			 int (*read_one)(int fd, uint64_t *ret))
{
	uint64_t least = UINT64_MAX, one;
	char path[4096];
	size_t base;

	if (!mount ||
	    (size_t)snprintf(path, sizeof(path), ".%s%s", mount, own) >= sizeof(path))
		return least;
	base = strlen(mount) + 1;
	for (int level = 0; level < LEVELS_MAX; level++) {
		_cleanup_close_ int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		char *slash = strrchr(path, '/');

		if (fd >= 0 && read_one(fd, &one) >= 0)
			least = MIN(least, one);
		if (!slash || (size_t)(slash - path) < base)
			break;
		*slash = '\0';
	}
	return least;
}

static void read_limits(int root_fd, const struct hierarchy *h, uint64_t *ret_millicores,
			uint64_t *ret_memory)
{
	uint64_t v1_cores = least_up(root_fd, h->mount[CONTROLLER_CPU], h->own[CONTROLLER_CPU],
				     read_v1_quota);
	uint64_t v2_cores = least_up(root_fd, h->v2_mount, h->v2_own, read_v2_quota);
	uint64_t v1_memory = least_up(root_fd, h->mount[CONTROLLER_MEMORY],
				      h->own[CONTROLLER_MEMORY], read_v1_memory);
	uint64_t v2_memory = least_up(root_fd, h->v2_mount, h->v2_own, read_v2_memory);

	*ret_millicores = MIN(v1_cores, v2_cores);
	*ret_memory = MIN(v1_memory, v2_memory);
}

/* @pid: as sched_getaffinity(2) has it; @h may be NULL. */
static int read_allocation(int root_fd, const struct hierarchy *h, pid_t pid, struct reading *to,
			   char **ret_cpus)
{
	uint64_t quota = UINT64_MAX, memory = UINT64_MAX;
	uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	size_t cores = 0;
	int r = read_affinity(pid, ret_cpus, &cores);

	if (r < 0)
		return r;
	if (h)
		read_limits(root_fd, h, &quota, &memory);
	reading_set(to, METRIC_CPU_ALLOCATED, MIN(quota, (uint64_t)cores * 1000));
	if (memory < machine)
		reading_set(to, METRIC_MEMORY_LIMIT, memory);
	return 0;
}

int allocation_read(int root_fd, const struct hierarchy *h, struct reading *to, char **ret_cpus)
{
	return read_allocation(root_fd, h, 0, to, ret_cpus);
}

/* @h, with @path as the own group; to be cleared as the hierarchy's own paths only. */
static int place_in(const struct hierarchy *h, const char *path, struct hierarchy *ret)
{
	*ret = *h;
	for (size_t c = 0; c < CONTROLLER_COUNT; c++)
		ret->own[c] =
			h->mount[c] && !h->is_v2 ? hierarchy_path_below(path, h->root[c]) : NULL;
	ret->v2_own = h->is_v2 ? hierarchy_path_below(path, h->v2_root) : NULL;
	for (size_t c = 0; c < CONTROLLER_COUNT; c++) {
		if (!ret->own[c])
			ret->mount[c] = NULL;
	}
	if (!ret->v2_own)
		ret->v2_mount = NULL;
	return h->is_v2 && !ret->v2_own ? -ENOMEM : 0;
}

int allocation_read_group(int root_fd, const struct hierarchy *h, const char *path, pid_t pid,
			  struct reading *to, char **ret_cpus)
{
	struct hierarchy there;
	int r = place_in(h, path, &there);

	if (r == 0)
		r = pid ? read_allocation(root_fd, &there, pid, to, ret_cpus) : -ESRCH;
	for (size_t c = 0; c < CONTROLLER_COUNT; c++)
		free(there.own[c]);
	free(there.v2_own);
	return r;
}
