/* SPDX-License-Identifier: MIT */
#include "selftest/advice.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "basic/macro.h"

/* Facts of this machine that advice depends on. */
enum fact {
	LIVE = 1 << 0,
	WELL = 1 << 1,
	KERNEL = 1 << 2, /* its release is known */
	BTF = 1 << 3,
	RIGHTS_KNOWN = 1 << 4,
	BPF_RIGHTS = 1 << 5,
	USER_NAMESPACE = 1 << 6,
	LOCKED_DOWN = 1 << 7,
	SOME_ON = 1 << 8, /* of the hooks for totals */
	CGROUPS = 1 << 9,
	V2 = 1 << 10,
	MEMORY = 1 << 11,
	ROOT_GROUP = 1 << 12, /* the root has all that v2 has: no scope could have more */
	GROUP_MADE = 1 << 13,
	GROUP_REFUSED = 1 << 14,
	GROUP_READ_ONLY = 1 << 15,
	LOOSE_SLURM = 1 << 16, /* its jobs are in no cgroups of their own */
	LOOSE_LSF = 1 << 17,
	CLOSED_SENSOR = 1 << 18,
	DRIVERLESS_GPU = 1 << 19,
	PERF_REFUSED = 1 << 20,
	NO_PMU = 1 << 21,
};

/* clang-format off */
static const struct rule {
	unsigned int wants, lacks; /* facts that all hold, and of which none does */
	struct advice advice;
} rules[] = {
	{ LIVE | RIGHTS_KNOWN, WELL | BPF_RIGHTS,
	  { "run as root, or with CAP_BPF and CAP_PERFMON",
	    "totals of every task, and files by mount" } },
	{ LIVE | BPF_RIGHTS | USER_NAMESPACE, WELL,
	  { "run outside this user namespace: its root has no rights on the host",
	    "totals and files" } },
	{ KERNEL, BTF,
	  { "a kernel with CONFIG_DEBUG_INFO_BTF (/sys/kernel/btf/vmlinux)",
	    "totals and files by BPF" } },
	{ LIVE | LOCKED_DOWN, WELL,
	  { "boot without lockdown=confidentiality: it forbids BPF to read the kernel",
	    "totals and files" } },
	{ LIVE | BPF_RIGHTS | BTF, WELL | USER_NAMESPACE | LOCKED_DOWN | SOME_ON,
	  { "allow bpf(2) here, which a container's filter may refuse to root, or a newer kernel "
	    "(tested are 6.1 and later)",
	    "totals and files" } },
	{ LIVE, CGROUPS,
	  { "mount a cgroup file system, v2 or v1's memory",
	    "cgroups to measure in" } },
	{ LIVE | CGROUPS | GROUP_READ_ONLY, GROUP_MADE,
	  { "mount the cgroup file system writable (in the container)",
	    "cgroups of its own" } },
	{ LIVE | CGROUPS | GROUP_REFUSED | V2, GROUP_MADE,
	  { "start in a scope of your own: systemd-run --user --scope -p Delegate=yes CMD",
	    "a cgroup of its own, and the memory of the whole command" } },
	{ LIVE | CGROUPS | GROUP_REFUSED | BPF_RIGHTS, GROUP_MADE | V2,
	  { "give the user the right to make cgroups below their own (cgroup v1: owned by the user)",
	    "a cgroup of its own" } },
	{ LIVE | CGROUPS | V2, MEMORY | ROOT_GROUP,
	  { "start in a delegated scope: systemd-run --scope -p Delegate=yes CMD",
	    "the memory peak and limit of a group: this one has no memory controller" } },
	{ LIVE | CGROUPS | V2 | ROOT_GROUP, MEMORY,
	  { "boot with cgroup_enable=memory, and without v1's memory hierarchy",
	    "the memory peak and limit of a group: v2 has no memory controller" } },
	{ CGROUPS, V2 | MEMORY,
	  { "mount v1's memory hierarchy (boot with cgroup_enable=memory where it is off)",
	    "the memory peak and limit of a group" } },
	{ LOOSE_SLURM, 0,
	  { "ProctrackType=proctrack/cgroup in slurm.conf",
	    "a cgroup for each Slurm job" } },
	{ LOOSE_LSF, 0,
	  { "LSF_PROCESS_TRACKING=Y in lsf.conf",
	    "a cgroup for each LSF job" } },
	{ CLOSED_SENSOR, 0,
	  { "root or CAP_DAC_READ_SEARCH for the sensors that only root may read",
	    "energy counters" } },
	{ DRIVERLESS_GPU, 0,
	  { "load the driver of the GPU that has none",
	    "a GPU that can be measured" } },
	{ PERF_REFUSED, 0,
	  { "sysctl kernel.perf_event_paranoid=2",
	    "hardware counters of your own processes" } },
	{ NO_PMU, 0,
	  { "have the hypervisor offer its guests a PMU",
	    "hardware counters" } },
};
/* clang-format on */

static_assert(ARRAY_SIZE(rules) <= ADVICE_MAX, "room for all");

static unsigned int facts_of_lists(const struct checkup *c)
{
	unsigned int facts = 0;

	for (size_t i = 0; i < c->managers.count; i++) {
		const struct manager *m = &c->managers.items[i];

		if (m->tracking == TRACKING_OFF)
			facts |= strcmp(m->name, "Slurm") == 0 ? LOOSE_SLURM
				 : strcmp(m->name, "LSF") == 0 ? LOOSE_LSF
							       : 0;
	}
	for (size_t i = 0; i < c->sensors.count; i++)
		facts |= c->sensors.items[i].is_readable ? 0 : CLOSED_SENSOR;
	for (size_t i = 0; i < c->gpus.count; i++)
		facts |= *c->gpus.items[i].driver ? 0 : DRIVERLESS_GPU;
	return facts;
}

static unsigned int facts_of(const struct checkup *c)
{
	const struct hierarchy *h = &c->hierarchy;
	const int group = c->selftest_error, cycles = c->features[CHECKUP_CYCLES].error;
	const struct {
		unsigned int fact;
		bool holds;
	} facts[] = {
		{ LIVE, c->is_live },
		{ WELL, checkup_is_well(c) },
		{ KERNEL, *c->machine.kernel },
		{ BTF, c->machine.has_btf },
		{ RIGHTS_KNOWN, c->rights.is_known },
		{ BPF_RIGHTS, rights_has_bpf(&c->rights) },
		{ USER_NAMESPACE, c->rights.is_in_user_namespace },
		{ LOCKED_DOWN, strcmp(c->rights.lockdown, "confidentiality") == 0 },
		{ SOME_ON, c->tiers[0].on_count > 0 },
		{ CGROUPS, c->has_hierarchy },
		{ V2, h->is_v2 },
		{ MEMORY, c->has_memory_controller },
		{ ROOT_GROUP, h->v2_own && strcmp(h->v2_own, "/") == 0 },
		{ GROUP_MADE, c->has_run },
		{ GROUP_REFUSED, group == -EACCES || group == -EPERM },
		{ GROUP_READ_ONLY, group == -EROFS },
		{ PERF_REFUSED, cycles == -EACCES && c->rights.perf_event_paranoid > 2 },
		{ NO_PMU, cycles == -ENODEV && c->machine.is_virtual },
	};
	unsigned int all = facts_of_lists(c);

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		all |= facts[i].holds ? facts[i].fact : 0;
	return all;
}

size_t advice_of(const struct checkup *c, struct advice ret[ADVICE_MAX])
{
	const unsigned int facts = facts_of(c);
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if ((facts & rules[i].wants) == rules[i].wants && !(facts & rules[i].lacks))
			ret[count++] = rules[i].advice;
	}
	return count;
}
