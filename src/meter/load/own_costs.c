/* SPDX-License-Identifier: MIT */
#include "load/own_costs.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/macro.h"
#include "load/objects.h"
#include "bpf/settings.h"
#include "load/sizing.h"

#define BATCHES 20
#define BATCH_CALLS 1000

static int read_program(int fd, uint32_t program, struct own_cost *by_cpu, struct own_costs *to,
			size_t cpus)
{
	if (bpf_map_lookup_elem(fd, &program, by_cpu) < 0)
		return -errno;
	for (size_t cpu = 0; cpu < cpus; cpu++) { /* each object has a map of all, and runs some */
		struct own_cost *cost = &to[cpu].programs[program];

		cost->runs += by_cpu[cpu].runs;
		cost->timed += by_cpu[cpu].timed;
		cost->timed_ns += by_cpu[cpu].timed_ns;
	}
	return 0;
}

int own_costs_read(const struct objects *o, struct own_costs **ret, size_t *ret_count)
{
	static const enum object_id objects[] = { OBJECT_FILES, OBJECT_TIME, OBJECT_BLOCK };
	size_t cpus = sizing_cpus();
	_cleanup_free_ struct own_cost *by_cpu = calloc(cpus, sizeof(*by_cpu));
	_cleanup_free_ struct own_costs *costs = calloc(cpus, sizeof(*costs));

	if (!by_cpu || !costs)
		return -ENOMEM;
	*ret_count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		int fd = objects_map_fd(o, objects[i], "own_costs"), r = 0;

		for (uint32_t program = 0; fd >= 0 && r == 0 && program < OWN_COUNT; program++)
			r = read_program(fd, program, by_cpu, costs, cpus);
		if (r < 0)
			return r;
		if (fd >= 0)
			*ret_count = cpus;
	}
	*ret = TAKE_PTR(costs);
	return 0;
}

uint64_t own_costs_time_call(void)
{
	uint64_t fastest = UINT64_MAX;

	for (int batch = 0; batch < BATCHES; batch++) {
		uint64_t start = clock_now_ns(CLOCK_MONOTONIC);

		for (int i = 0; i < BATCH_CALLS; i++)
			syscall(SYS_getppid);
		fastest = MIN(fastest, (clock_now_ns(CLOCK_MONOTONIC) - start) / BATCH_CALLS);
	}
	return fastest;
}

/* Of all CPUs: calls of other processes increase it. */
static struct own_cost sum_of_entries(const struct objects *o)
{
	_cleanup_free_ struct own_costs *costs = NULL;
	struct own_cost sum = {};
	size_t count = 0;

	(void)own_costs_read(o, &costs, &count);
	for (size_t cpu = 0; costs && cpu < count; cpu++) {
		sum.timed += costs[cpu].programs[OWN_ENTER].timed;
		sum.timed_ns += costs[cpu].programs[OWN_ENTER].timed_ns;
	}
	return sum;
}

void own_costs_calibrate(const struct objects *o, uint64_t bare_ns)
{
	struct watch *watch = o->watches[OBJECT_FILES];
	struct own_cost before, after;
	uint64_t hooked_ns;

	if (!watch)
		return;
	before = sum_of_entries(o);
	hooked_ns = own_costs_time_call();
	after = sum_of_entries(o);
	watch->call_ns = (uint32_t)(hooked_ns - MIN(hooked_ns, bare_ns));
	if (after.timed > before.timed)
		watch->run_ns = (uint32_t)((after.timed_ns - before.timed_ns) /
					   (after.timed - before.timed));
}

struct own_bases own_costs_bases(const struct objects *o)
{
	const struct watch *watch = o->watches[OBJECT_FILES];

	return watch ? (struct own_bases){ watch->call_ns, watch->run_ns } : (struct own_bases){};
}

void own_costs_set_unclocked(const struct objects *o, uint64_t since_ns)
{
	if (o->watches[OBJECT_FILES])
		__atomic_store_n(&o->watches[OBJECT_FILES]->unclocked_ns, since_ns,
				 __ATOMIC_SEQ_CST);
}

uint64_t own_costs_unclocked(const struct objects *o)
{
	return o->watches[OBJECT_FILES] ? o->watches[OBJECT_FILES]->unclocked_ns : 0;
}
