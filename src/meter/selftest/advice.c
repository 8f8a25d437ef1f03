/* SPDX-License-Identifier: MIT */
#include "selftest/advice.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "basic/macro.h"

static bool has_off_tier(const struct checkup *c)
{
	return c->is_live && !checkup_is_well(c);
}

static bool wants_rights(const struct checkup *c)
{
	return has_off_tier(c) && c->rights.is_known && !rights_has_bpf(&c->rights);
}

static bool wants_host_rights(const struct checkup *c)
{
	return has_off_tier(c) && rights_has_bpf(&c->rights) && c->rights.is_in_user_namespace;
}

static bool wants_btf(const struct checkup *c)
{
	return *c->machine.kernel && !c->machine.has_btf;
}

static bool wants_no_lockdown(const struct checkup *c)
{
	return has_off_tier(c) && strcmp(c->rights.lockdown, "confidentiality") == 0;
}

static const struct attempt *find_attempt(const struct checkup *c, const char *name)
{
	for (size_t i = 0; i < ATTEMPTS_COUNT; i++) {
		if (c->attempts[i].name && strcmp(c->attempts[i].name, name) == 0)
			return &c->attempts[i];
	}
	return NULL;
}

/* Even the simplest program is not permitted. */
static bool is_refused_bpf(const struct checkup *c)
{
	const struct attempt *kprobe = find_attempt(c, "kprobe");

	return kprobe && (kprobe->error == -EPERM || kprobe->error == -EACCES);
}

/* Nothing of ours is on, though rights and types are there. */
static bool is_off_in_spite_of_rights(const struct checkup *c)
{
	return has_off_tier(c) && rights_has_bpf(&c->rights) && !c->rights.is_in_user_namespace &&
	       c->machine.has_btf && c->tiers[0].on_count == 0 && !wants_no_lockdown(c);
}

static bool wants_no_filter(const struct checkup *c)
{
	return is_off_in_spite_of_rights(c) && is_refused_bpf(c);
}

static bool wants_newer_kernel(const struct checkup *c)
{
	return is_off_in_spite_of_rights(c) && !is_refused_bpf(c);
}

static bool is_refused_group(const struct checkup *c)
{
	return c->is_live && c->has_hierarchy && !c->has_run &&
	       (c->selftest_error == -EACCES || c->selftest_error == -EPERM);
}

static bool wants_delegation(const struct checkup *c)
{
	return is_refused_group(c) && c->hierarchy.is_v2;
}

static bool wants_v1_group(const struct checkup *c)
{
	return is_refused_group(c) && !c->hierarchy.is_v2 && !wants_rights(c);
}

static bool wants_writable_cgroup(const struct checkup *c)
{
	return c->is_live && c->has_hierarchy && !c->has_run && c->selftest_error == -EROFS;
}

static bool lacks_memory_on_v2(const struct checkup *c)
{
	return c->is_live && c->has_hierarchy && c->hierarchy.is_v2 && !c->has_memory_controller;
}

/* The root has all that v2 has: no scope could have more. */
static bool is_in_root_group(const struct checkup *c)
{
	return c->hierarchy.v2_own && strcmp(c->hierarchy.v2_own, "/") == 0;
}

static bool wants_memory_scope(const struct checkup *c)
{
	return lacks_memory_on_v2(c) && !is_in_root_group(c);
}

static bool wants_memory_on_v2(const struct checkup *c)
{
	return lacks_memory_on_v2(c) && is_in_root_group(c);
}

static bool wants_memory_hierarchy(const struct checkup *c)
{
	return c->has_hierarchy && !c->hierarchy.is_v2 && !c->has_memory_controller;
}

static bool wants_cgroup(const struct checkup *c)
{
	return c->is_live && !c->has_hierarchy;
}

static bool has_loose_manager(const struct checkup *c, const char *name)
{
	for (size_t i = 0; i < c->managers.count; i++) {
		if (strcmp(c->managers.items[i].name, name) == 0)
			return c->managers.items[i].tracking == TRACKING_OFF;
	}
	return false;
}

static bool wants_slurm_cgroups(const struct checkup *c)
{
	return has_loose_manager(c, "Slurm");
}

static bool wants_lsf_cgroups(const struct checkup *c)
{
	return has_loose_manager(c, "LSF");
}

static bool wants_debugfs(const struct checkup *c)
{
	return c->is_live && c->rights.is_known && c->rights.uid == 0 &&
	       !*c->machine.preemption.mode && !c->machine.has_debugfs;
}

static bool wants_sensor_rights(const struct checkup *c)
{
	for (size_t i = 0; i < c->sensors.count; i++) {
		if (!c->sensors.items[i].is_readable)
			return true;
	}
	return false;
}

static bool wants_gpu_driver(const struct checkup *c)
{
	for (size_t i = 0; i < c->gpus.count; i++) {
		if (!*c->gpus.items[i].driver)
			return true;
	}
	return false;
}

static bool has_refused_cycles(const struct checkup *c, int error)
{
	const struct attempt *cycles = find_attempt(c, "cycles");

	return cycles && !cycles->is_well && cycles->error == error;
}

static bool wants_perf_rights(const struct checkup *c)
{
	return c->rights.perf_event_paranoid > 2 &&
	       (has_refused_cycles(c, -EACCES) || has_refused_cycles(c, -EPERM));
}

static bool wants_guest_pmu(const struct checkup *c)
{
	return c->machine.is_virtual &&
	       (has_refused_cycles(c, -ENOENT) || has_refused_cycles(c, -EOPNOTSUPP) ||
		has_refused_cycles(c, -ENODEV));
}

/* clang-format off */
static const struct rule {
	bool (*holds)(const struct checkup *c);
	struct advice advice;
} rules[] = {
	{ wants_rights,
	  { "run as root, or with CAP_BPF and CAP_PERFMON",
	    "totals of every task, and files by mount" } },
	{ wants_host_rights,
	  { "run outside this user namespace: its root has no rights on the host",
	    "totals and files" } },
	{ wants_btf,
	  { "a kernel with CONFIG_DEBUG_INFO_BTF (/sys/kernel/btf/vmlinux)",
	    "totals and files by BPF" } },
	{ wants_no_lockdown,
	  { "boot without lockdown=confidentiality: it forbids BPF to read the kernel",
	    "totals and files" } },
	{ wants_no_filter,
	  { "allow bpf(2) here: a filter (of a container, say) refuses it to root",
	    "totals and files" } },
	{ wants_newer_kernel,
	  { "a newer kernel: this one lacks what the programs need (tested are 6.1 and later)",
	    "totals and files" } },
	{ wants_cgroup,
	  { "mount a cgroup file system, v2 or v1's memory",
	    "cgroups to measure in" } },
	{ wants_writable_cgroup,
	  { "mount the cgroup file system writable (in the container)",
	    "cgroups of its own" } },
	{ wants_delegation,
	  { "start in a scope of your own: systemd-run --user --scope -p Delegate=yes CMD",
	    "a cgroup of its own, and the memory of the whole command" } },
	{ wants_v1_group,
	  { "give the user the right to make cgroups below their own (cgroup v1: owned by the user)",
	    "a cgroup of its own" } },
	{ wants_memory_scope,
	  { "start in a delegated scope: systemd-run --scope -p Delegate=yes CMD",
	    "the memory peak and limit of a group: this one has no memory controller" } },
	{ wants_memory_on_v2,
	  { "boot with cgroup_enable=memory, and without v1's memory hierarchy",
	    "the memory peak and limit of a group: v2 has no memory controller" } },
	{ wants_memory_hierarchy,
	  { "mount v1's memory hierarchy (boot with cgroup_enable=memory where it is off)",
	    "the memory peak and limit of a group" } },
	{ wants_slurm_cgroups,
	  { "ProctrackType=proctrack/cgroup in slurm.conf",
	    "a cgroup for each Slurm job" } },
	{ wants_lsf_cgroups,
	  { "LSF_PROCESS_TRACKING=Y in lsf.conf",
	    "a cgroup for each LSF job" } },
	{ wants_sensor_rights,
	  { "root or CAP_DAC_READ_SEARCH for the sensors that only root may read",
	    "energy counters" } },
	{ wants_gpu_driver,
	  { "load the driver of the GPU that has none",
	    "a GPU that can be measured" } },
	{ wants_perf_rights,
	  { "sysctl kernel.perf_event_paranoid=2",
	    "hardware counters of your own processes" } },
	{ wants_guest_pmu,
	  { "have the hypervisor offer its guests a PMU",
	    "hardware counters" } },
	{ wants_debugfs,
	  { "mount -t debugfs none /sys/kernel/debug",
	    "the preemption mode" } },
};
/* clang-format on */

static_assert(ARRAY_SIZE(rules) <= ADVICE_MAX, "room for all");

size_t advice_of(const struct checkup *c, struct advice ret[ADVICE_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].holds(c))
			ret[count++] = rules[i].advice;
	}
	return count;
}
