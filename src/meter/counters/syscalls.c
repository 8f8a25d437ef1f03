/* SPDX-License-Identifier: MIT */
/* T3: what the kernel side counted of each system call, over all CPUs, by name. */
#include "model/sections/syscalls.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "counters/details.h"
#include "basic/macro.h"
#include "load/meter.h"
#include "bpf/syscall_counts.h"
#include "load/syscall_names.h"

#define OPEN_SYSCALLS_MAX 16384

static struct syscall_counts sum_cpus(const struct syscall_counts *per_cpu, unsigned int cpus)
{
	struct syscall_counts sum = {};

	for (unsigned int cpu = 0; cpu < cpus; cpu++) {
		sum.calls += per_cpu[cpu].calls;
		sum.errors += per_cpu[cpu].errors;
		sum.ns += per_cpu[cpu].ns;
		sum.longest_ns = MAX(sum.longest_ns, per_cpu[cpu].longest_ns);
	}
	return sum;
}

static int add(uint32_t number, const struct syscall_counts *counts, struct syscalls *ret)
{
	char name[SYSCALL_NAME_SIZE];
	struct syscall_row *row;

	if (!counts->calls && !counts->ns)
		return 0;
	row = syscalls_get(ret, syscall_name(number, name));
	if (!row)
		return -ENOMEM;
	*syscall_number_ref(row, METRIC_SYSCALL_CALLS) += counts->calls;
	*syscall_number_ref(row, METRIC_SYSCALL_ERRORS) += counts->errors;
	*syscall_number_ref(row, METRIC_SYSCALL_SECONDS) += counts->ns;
	*syscall_number_ref(row, METRIC_SYSCALL_LONGEST) =
		MAX(syscall_number(row, METRIC_SYSCALL_LONGEST), counts->longest_ns);
	return 0;
}

static int read_rows(const struct objects *objects, struct syscalls *ret)
{
	int fd = objects_map_fd(objects, OBJECT_SYSCALLS, "syscall_rows"), r = 0;
	unsigned int cpus = sizing_cpus();
	_cleanup_free_ struct syscall_counts *per_cpu = calloc(cpus, sizeof(*per_cpu));

	if (fd < 0)
		return fd;
	if (!per_cpu)
		return -ENOMEM;
	ret->is_known = true;
	for (uint32_t number = 0; r >= 0 && number < SYSCALL_ROWS; number++) {
		struct syscall_counts sum;

		if (bpf_map_lookup_elem(fd, &number, per_cpu) < 0) {
			r = -errno;
			break;
		}
		sum = sum_cpus(per_cpu, cpus);
		r = add(number, &sum, ret);
	}
	if (r < 0)
		syscalls_clear(ret);
	else
		syscalls_sort(ret);
	return r;
}

/* How many threads sleep in a call that goes on, and is not counted yet. */
static uint64_t count_open(const struct objects *objects)
{
	int fd = objects_map_fd(objects, OBJECT_SYSCALLS, "parked_syscalls");
	uint64_t count = 0, key, next;
	const uint64_t *before = NULL;

	while (fd >= 0 && bpf_map_get_next_key(fd, before, &next) == 0) {
		struct syscall_now now;

		count += bpf_map_lookup_elem(fd, &next, &now) == 0;
		key = next;
		before = &key;
		if (count > OPEN_SYSCALLS_MAX) /* entries that come and go may bring it to its
						  beginning again */
			break;
	}
	return MIN(count, (uint64_t)OPEN_SYSCALLS_MAX);
}

int syscalls_read(const struct meter *m, struct syscalls *ret, uint64_t *ret_open,
		  struct error *err)
{
	int r;

	*ret_open = 0;
	if (!meter_is_on(m, "enter_syscall") || !meter_is_on(m, "leave_syscall"))
		return 0;
	r = read_rows(meter_objects(m), ret);
	if (r < 0)
		return error_set_errno(err, r, "cannot read the kernel side's system calls");
	*ret_open = count_open(meter_objects(m));
	return 0;
}
