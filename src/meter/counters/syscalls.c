/* SPDX-License-Identifier: MIT */
/* T3: what the kernel side counted of each system call, over all CPUs, by name. */
#include "model/sections/syscalls.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/ids.h"
#include "basic/macro.h"
#include "counters/details.h"
#include "load/meter.h"
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
	*syscall_number_ref(ret, METRIC_SYSCALL_CALLS) = counts->calls;
	*syscall_number_ref(ret, METRIC_SYSCALL_ERRORS) = counts->errors;
	*syscall_number_ref(ret, METRIC_SYSCALL_SECONDS) = counts->ns;
	*syscall_number_ref(ret, METRIC_SYSCALL_LONGEST) = counts->longest_ns;
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

struct search {
	const uint64_t *cgroups; /* NULL: all */
	size_t count;
	syscall_visitor visit;
	void *context;
	uint64_t open;
};

static bool is_wanted(const struct search *s, uint64_t cgroup)
{
	return !s->cgroups || ids_contain(s->cgroups, s->count, cgroup);
}

static int visit_counts(void *context, const void *key, const void *value)
{
	const struct syscall_key *its = key;
	const struct search *s = context;
	struct syscall_row row;

	if (!is_wanted(s, its->cgroup) || is_idle(value))
		return 0;
	name_counts(its->row, value, &row);
	return s->visit(s->context, its->cgroup, &row);
}

int syscalls_visit(const struct meter *m, const uint64_t *cgroups, size_t count,
		   syscall_visitor visit, void *context)
{
	int fd = objects_map_fd(meter_objects(m), OBJECT_SYSCALLS, "syscalls_by_cgroup");
	struct search s = { cgroups, count, visit, context, 0 };

	return fd < 0 ? fd
		      : entries_visit(fd, sizeof(struct syscall_key), sizeof(struct syscall_counts),
				      visit_counts, &s);
}

static int add_row(void *to, uint64_t cgroup UNUSED, const struct syscall_row *row)
{
	return syscalls_add(to, row);
}

static int read_rows(const struct meter *m, struct syscalls *ret)
{
	int fd = objects_map_fd(meter_objects(m), OBJECT_SYSCALLS, "syscall_rows"), r;

	if (fd < 0)
		return fd;
	ret->is_known = true;
	r = meter_only_cgroup(m) ? collect_rows(fd, ret) : syscalls_visit(m, NULL, 0, add_row, ret);
	if (r < 0)
		syscalls_clear(ret);
	else
		syscalls_sort(ret);
	return r;
}

static int visit_open(void *context, const void *key UNUSED, const void *value)
{
	struct search *s = context;

	s->open += is_wanted(s, ((const struct syscall_now *)value)->cgroup);
	return 0;
}

uint64_t syscalls_count_open(const struct meter *m, const uint64_t *cgroups, size_t count)
{
	int fd = objects_map_fd(meter_objects(m), OBJECT_SYSCALLS, "parked_syscalls");
	struct search s = { .cgroups = cgroups, .count = count };

	if (fd >= 0)
		(void)entries_visit(fd, sizeof(uint64_t), sizeof(struct syscall_now), visit_open,
				    &s);
	return s.open;
}

int syscalls_read(const struct meter *m, struct syscalls *ret, uint64_t *ret_open,
		  struct error *err)
{
	int r;

	*ret_open = 0;
	if (!meter_is_on(m, "enter_syscall") || !meter_is_on(m, "leave_syscall"))
		return 0;
	r = read_rows(m, ret);
	if (r < 0)
		return error_set_errno(err, r, "cannot read the kernel side's system calls");
	*ret_open = syscalls_count_open(m, NULL, 0);
	return 0;
}
