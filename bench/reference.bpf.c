// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * reference - what jobmeter's cost is compared with: the usual design, done with care.
 *
 * It stands for the meters of the field that sum file operations by cgroup and mount path in one
 * shared LRU hash with atomic adds, the start of a call in a hash by thread id, and the path of the
 * mount built in the kernel at every call.  Nobody's code is copied.  It hooks the same tracepoints
 * as jobmeter, counts the same system calls that move data and gives the same numbers: calls,
 * bytes, errors, time, log2 histograms of size and latency.
 *
 * Where designs differ it takes the cheaper way: the last part of each mount point's name only,
 * chained up to the root; one value that holds counters and histograms; no filter by file system.
 */
#include "bpf/compat.bpf.h"
#include "log2.bpf.h"
#include "reference.h"

#define MOUNTS_MAX 8 /* mounts above one another */
#define NAME_MAX 63
#define PATH_MAX (MOUNTS_MAX * (NAME_MAX + 1))

struct name { /* the kernel's struct qstr, in one read */
	__u32 hash, length;
	const unsigned char *text;
};

const volatile __u32 hierarchy = HIERARCHY_V2;
/* By system call number. */
const volatile __u8 is_counted[REFERENCE_CALLS];

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 10240);
	__type(key, __u32); /* thread id */
	__type(value, __u64);
} starts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct reference_key);
	__type(value, struct reference_value);
} totals SEC(".maps");

struct scratch {
	char path[PATH_MAX + NAME_MAX + 1];
	struct reference_key key;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static const struct reference_value no_value;

static __always_inline __u64 subsys_index(void)
{
	switch (hierarchy) {
	case HIERARCHY_MEMORY:
		return bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	case HIERARCHY_CPUACCT:
		return bpf_core_enum_value(enum cgroup_subsys_id, cpuacct_cgrp_id);
	default:
		return bpf_core_enum_value(enum cgroup_subsys_id, freezer_cgrp_id);
	}
}

static __always_inline __u64 cgroup_id(struct task_struct *task)
{
	struct css_set *sets;
	struct cgroup_subsys_state *state = NULL;

	if (hierarchy == HIERARCHY_V2)
		return bpf_get_current_cgroup_id();
	sets = BPF_CORE_READ(task, cgroups);
	bpf_probe_read_kernel(&state, sizeof(state), (void *)&sets->subsys + 8 * subsys_index());
	return BPF_CORE_READ(state, cgroup, kn, id);
}

static __always_inline struct vfsmount *mount_of(struct task_struct *task, __u64 descriptor)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL;
	struct file **files;

	if ((__u32)descriptor >= BPF_CORE_READ(table, max_fds))
		return NULL;
	files = BPF_CORE_READ(table, fd);
	bpf_probe_read_kernel(&file, sizeof(file), files + (__u32)descriptor);
	return file ? BPF_CORE_READ(file, f_path.mnt) : NULL;
}

/* The mount points' names from the root down, put before one another from the buffer's middle. */
static __always_inline void build_path(struct scratch *scratch, struct vfsmount *vfsmount)
{
	struct mount *mount = (void *)vfsmount - bpf_core_field_offset(struct mount, mnt);
	__u32 at = PATH_MAX;

	scratch->path[PATH_MAX] = '\0';
	for (int i = 0; i < MOUNTS_MAX; i++) {
		struct mount *parent = BPF_CORE_READ(mount, mnt_parent);
		struct dentry *dentry;
		struct name name;
		__u32 length, start;

		if (!parent || parent == mount)
			break;
		dentry = BPF_CORE_READ(mount, mnt_mountpoint);
		bpf_probe_read_kernel(&name, sizeof(name), &dentry->d_name);
		length = name.length & NAME_MAX;
		start = (at - length - 1) & (PATH_MAX - 1);
		bpf_probe_read_kernel(&scratch->path[start + 1], length, name.text);
		if (scratch->path[start + 1] == '/') /* on a root directory: the root's own mount */
			break;
		scratch->path[start] = '/';
		at = start;
		mount = parent;
	}
	if (at == PATH_MAX) { /* the root itself */
		at--;
		scratch->path[at] = '/';
	}
	__builtin_memset(scratch->key.path, 0, sizeof(scratch->key.path));
	bpf_probe_read_kernel_str(scratch->key.path, sizeof(scratch->key.path),
				  &scratch->path[at & (PATH_MAX - 1)]);
}

static __always_inline struct reference_value *get_value(const struct reference_key *key)
{
	struct reference_value *value = bpf_map_lookup_elem(&totals, key);

	if (value)
		return value;
	bpf_map_update_elem(&totals, key, &no_value, BPF_NOEXIST);
	return bpf_map_lookup_elem(&totals, key);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(start_call, struct pt_regs *regs, long nr)
{
	__u64 now;
	__u32 tid;

	if ((__u64)nr >= REFERENCE_CALLS || !is_counted[nr])
		return 0;
	tid = bpf_get_current_pid_tgid();
	now = bpf_ktime_get_ns();
	bpf_map_update_elem(&starts, &tid, &now, BPF_ANY);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(end_call, struct pt_regs *regs, long result)
{
	long nr = call_number(regs);
	__u32 tid, zero = 0;
	struct task_struct *task;
	struct reference_value *value;
	struct vfsmount *mount;
	struct scratch *scratch;
	__u64 *start, ns;

	if ((__u64)nr >= REFERENCE_CALLS || !is_counted[nr])
		return 0;
	tid = bpf_get_current_pid_tgid();
	start = bpf_map_lookup_elem(&starts, &tid);
	if (!start)
		return 0;
	ns = bpf_ktime_get_ns() - *start;
	bpf_map_delete_elem(&starts, &tid);

	task = bpf_get_current_task_btf();
	mount = mount_of(task, call_argument(regs, 0));
	scratch = bpf_map_lookup_elem(&scratches, &zero);
	if (!mount || !scratch)
		return 0;
	build_path(scratch, mount);
	scratch->key.cgroup = cgroup_id(task);
	value = get_value(&scratch->key);
	if (!value)
		return 0;
	__sync_fetch_and_add(&value->calls, 1);
	__sync_fetch_and_add(&value->ns, ns);
	if (result < 0) {
		__sync_fetch_and_add(&value->errors, 1);
	} else {
		__sync_fetch_and_add(&value->bytes, result);
		__sync_fetch_and_add(&value->sizes[log2_of(result, REFERENCE_BUCKETS)], 1);
	}
	__sync_fetch_and_add(&value->latencies[log2_of(ns, REFERENCE_BUCKETS)], 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
