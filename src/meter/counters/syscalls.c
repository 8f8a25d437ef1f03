/* SPDX-License-Identifier: MIT */
/* T3: what the kernel side counted of each system call, over all CPUs, by name. */
#include "model/sections/syscalls.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "counters/details.h"
#include "load/meter.h"
#include "model/counted.h"
#include "bpf/syscall_counts.h"
#include "load/entries.h"
#include "load/objects.h"
#include "load/syscall_names.h"

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

static void name_counts(uint32_t number, const struct syscall_counts *counts,
			struct syscall_row *ret)
{
	char name[SYSCALL_NAME_SIZE];

	*ret = (struct syscall_row){};
	snprintf(ret->name, sizeof(ret->name), "%s", syscall_name(number, name));
	syscall_set(ret, METRIC_SYSCALL_CALLS, counts->calls);
	syscall_set(ret, METRIC_SYSCALL_ERRORS, counts->errors);
	syscall_set(ret, METRIC_SYSCALL_SECONDS, counts->ns);
	syscall_set(ret, METRIC_SYSCALL_LONGEST, counts->longest_ns);
}

static bool is_idle(const struct syscall_counts *counts)
{
	return !counts->calls && !counts->ns;
}

/* ---- of one group ---- */

static int collect_rows(int fd, struct syscalls *ret)
{
	unsigned int cpus = sizing_cpus();
	_cleanup_free_ struct syscall_counts *per_cpu = calloc(cpus, sizeof(*per_cpu));
	int r = per_cpu ? 0 : -ENOMEM;

	for (uint32_t number = 0; r >= 0 && number < SYSCALL_ROWS; number++) {
		struct syscall_counts sum;
		struct syscall_row row;

		if (bpf_map_lookup_elem(fd, &number, per_cpu) < 0)
			return -errno;
		sum = sum_cpus(per_cpu, cpus);
		if (is_idle(&sum))
			continue;
		name_counts(number, &sum, &row);
		r = syscalls_add(ret, &row);
	}
	return r;
}

/* ---- by cgroup ---- */

static int read_rows(const struct meter *m, const struct details_of *of, struct syscalls *ret)
{
	_cleanup_(entries_end) struct entries e = objects_entries(meter_objects(m), OBJECT_SYSCALLS,
								  "syscalls_by_cgroup");
	int r = 0;

	while (r >= 0 && (r = entries_next(&e)) > 0) {
		const struct syscall_key *key = e.key;
		size_t at = details_index(of, key->cgroup);
		struct syscall_row row;

		if (at == SIZE_MAX || is_idle(e.value))
			continue;
		name_counts(key->row, e.value, &row);
		r = syscalls_add(&ret[at], &row);
	}
	return r;
}

uint64_t syscalls_count_open(const struct meter *m, const struct details_of *of)
{
	_cleanup_(entries_end) struct entries e = objects_entries(meter_objects(m), OBJECT_SYSCALLS,
								  "parked_syscalls");
	uint64_t open = 0;

	while (e.fd >= 0 && entries_next(&e) > 0)
		open += details_index(of, ((const struct syscall_now *)e.value)->cgroup) !=
			SIZE_MAX;
	return open;
}

int syscalls_read(const struct meter *m, const struct details_of *of, struct syscalls *ret,
		  struct error *err)
{
	int r;

	if (!(meter_counted(m) & COUNTED_SYSCALLS))
		return 0;
	for (size_t i = 0; i < details_count(of); i++)
		ret[i].is_known = true;
	r = meter_only_cgroup(m) ? collect_rows(objects_map_fd(meter_objects(m), OBJECT_SYSCALLS,
							       "syscall_rows"),
						ret)
				 : read_rows(m, of, ret);
	for (size_t i = 0; i < details_count(of); i++) {
		if (r < 0)
			syscalls_clear(&ret[i]);
		else
			syscalls_sort(&ret[i]);
	}
	return r < 0 ? error_set_errno(err, r, "cannot read the kernel side's system calls") : 0;
}
