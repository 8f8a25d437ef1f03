/* SPDX-License-Identifier: (MIT OR GPL-2.0) */
/* Counts reads by two roads: at the entry of vfs_read (fentry, so a trampoline), and at the system
 * call's tracepoint with BTF types.  Costs nothing that matters: it runs in test guests only. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define SYSCALL_READ 0

__u64 counts[2]; /* by vfs_read, by system call */

SEC("fentry/vfs_read")
int count_vfs_read(void *ctx)
{
	__sync_fetch_and_add(&counts[0], 1);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(count_system_call, void *registers, long number)
{
	if (number == SYSCALL_READ)
		__sync_fetch_and_add(&counts[1], 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
