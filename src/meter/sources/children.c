/* SPDX-License-Identifier: MIT */
/* What an ordinary user gets of the kernel: wait()'s usage of children, and their I/O in proc. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "sources/children.h"
#include "basic/macro.h"
#include "basic/parse.h"

/* clang-format off */
static const struct {
	const char *key;
	enum metric_id metric;
} io_fields[] = {
	{ "rchar",       METRIC_IO_CHARS_READ },
	{ "wchar",       METRIC_IO_CHARS_WRITTEN },
	{ "syscr",       METRIC_IO_CALLS_READ },
	{ "syscw",       METRIC_IO_CALLS_WRITTEN },
	{ "read_bytes",  METRIC_IO_STORAGE_READ },
	{ "write_bytes", METRIC_IO_STORAGE_WRITTEN },
};

static const enum metric_id usage_metrics[] = {
	METRIC_CPU_USER, METRIC_CPU_SYSTEM, METRIC_MEMORY_MINOR_FAULTS, METRIC_MEMORY_MAJOR_FAULTS,
	METRIC_CPU_VOLUNTARY_SWITCHES, METRIC_CPU_INVOLUNTARY_SWITCHES,
};
/* clang-format on */

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

static void read_usage(uint64_t *values, uint64_t *ret_peak_bytes)
{
	struct rusage usage = {};

	getrusage(RUSAGE_CHILDREN, &usage);
	values[METRIC_CPU_USER] = timeval_ns(usage.ru_utime);
	values[METRIC_CPU_SYSTEM] = timeval_ns(usage.ru_stime);
	values[METRIC_MEMORY_MINOR_FAULTS] = (uint64_t)usage.ru_minflt;
	values[METRIC_MEMORY_MAJOR_FAULTS] = (uint64_t)usage.ru_majflt;
	values[METRIC_CPU_VOLUNTARY_SWITCHES] = (uint64_t)usage.ru_nvcsw;
	values[METRIC_CPU_INVOLUNTARY_SWITCHES] = (uint64_t)usage.ru_nivcsw;
	*ret_peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

/* In one call, so that its effect on our own counts is known. Returns the length. */
static ssize_t read_in_one_call(int root_fd, const char *path, char *text, size_t size)
{
	_cleanup_close_ int fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return n;
}

/*
 * The whole process' counts less its only thread's own: those of the children that were waited for
 * (task_io_accounting_add() in wait_task_zombie(), kernel/exit.c).  The thread's own are read
 * first, and reading them added a call and its bytes before the whole was made up.
 */
static int read_io(int root_fd, uint64_t *values)
{
	char whole[512], own[512];
	ssize_t own_length = read_in_one_call(root_fd, "proc/thread-self/io", own, sizeof(own));

	if (own_length < 0 || read_in_one_call(root_fd, "proc/self/io", whole, sizeof(whole)) < 0)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(io_fields); i++) {
		uint64_t all, mine;

		if (parse_keyed_u64(whole, io_fields[i].key, ':', &all) < 0 ||
		    parse_keyed_u64(own, io_fields[i].key, ':', &mine) < 0)
			return -EINVAL;
		values[io_fields[i].metric] = all - mine;
	}
	values[METRIC_IO_CHARS_READ] -= (uint64_t)own_length;
	values[METRIC_IO_CALLS_READ] -= 1;
	return 0;
}

void children_usage_begin(int root_fd, struct children_usage *ret)
{
	uint64_t peak_bytes;

	*ret = (struct children_usage){};
	read_usage(ret->before, &peak_bytes);
	ret->has_io = read_io(root_fd, ret->before) >= 0;
}

void collect_children(int root_fd, const struct children_usage *begin, struct reading *to)
{
	uint64_t now[METRIC_JOB_COUNT] = {}, peak_bytes;

	read_usage(now, &peak_bytes);
	for (size_t i = 0; i < ARRAY_SIZE(usage_metrics); i++) {
		enum metric_id id = usage_metrics[i];

		if (!to->values[id].is_known)
			reading_set(to, id, now[id] - begin->before[id]);
	}
	if (!to->values[METRIC_MEMORY_PROCESS_PEAK].is_known)
		reading_set(to, METRIC_MEMORY_PROCESS_PEAK, peak_bytes);
	if (!begin->has_io || read_io(root_fd, now) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(io_fields); i++) {
		enum metric_id id = io_fields[i].metric;

		if (!to->values[id].is_known)
			reading_set(to, id, now[id] - begin->before[id]);
	}
}

uint64_t children_cpu_ns(const struct children_usage *begin)
{
	uint64_t now[METRIC_JOB_COUNT] = {}, peak_bytes;

	read_usage(now, &peak_bytes);
	return now[METRIC_CPU_USER] - begin->before[METRIC_CPU_USER] + now[METRIC_CPU_SYSTEM] -
	       begin->before[METRIC_CPU_SYSTEM];
}

void raise_to_children(const struct children_usage *begin, struct reading *to)
{
	uint64_t now[METRIC_JOB_COUNT] = {}, peak_bytes;

	read_usage(now, &peak_bytes);
	for (size_t i = 0; i < ARRAY_SIZE(usage_metrics); i++) {
		enum metric_id id = usage_metrics[i];
		uint64_t used = now[id] - begin->before[id];

		if (to->values[id].is_known && to->values[id].number < used)
			reading_set(to, id, used);
	}
}

bool children_know(enum metric_id metric)
{
	for (size_t i = 0; i < ARRAY_SIZE(io_fields); i++) {
		if (io_fields[i].metric == metric)
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(usage_metrics); i++) {
		if (usage_metrics[i] == metric)
			return true;
	}
	return metric == METRIC_MEMORY_PROCESS_PEAK;
}
