/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kthreads - what the kernel's own threads read and write: loop devices on their backing files,
 * nfsd on its exports.  Their user is unknown, so they are a row of the node and of no job.
 */
#pragma once

#include "bpf/rows.bpf.h"

static __always_inline int count_kernel(__u8 op, long result)
{
	struct task_struct *task = current_task();
	struct file_key key;

	if (!(LOAD(task, flags) & PF_KTHREAD))
		return 0;
	key = key_for(0, PLACE_KERNEL, op, 0);
	count_trampolined(&key, result);
	return 0;
}

SEC("fexit/vfs_iter_read")
int BPF_PROG(count_kernel_read, void *file, void *iter, void *position, int flags, long result)
{
	return count_kernel(FILES_READ, result);
}

SEC("fexit/vfs_iter_write")
int BPF_PROG(count_kernel_write, void *file, void *iter, void *position, int flags, long result)
{
	return count_kernel(FILES_WRITE, result);
}

#define REQUEST_DIRECTION 1 /* of request.cmd_flags: set where data go out */

/*
 * Loop devices, where they don't use the above: for direct requests, and on newer kernels for all.
 * Called twice for each request; the last time its result is known.
 */
SEC("fentry/lo_rw_aio_do_completion")
int BPF_PROG(count_loop_request, struct loop_cmd *cmd)
{
	struct request *request = (void *)cmd - bpf_core_type_size(struct request); /* it goes
										       before */
	struct file_key key = key_for(0, PLACE_KERNEL, FILES_READ, 0);

	if (BPF_CORE_READ(cmd, ref.counter) != 1)
		return 0;
	if (BPF_CORE_READ(request, cmd_flags) & REQUEST_DIRECTION)
		key.op = FILES_WRITE;
	count_trampolined(&key, BPF_CORE_READ(cmd, ret));
	return 0;
}

/* How nfsd reads. */
SEC("fexit/splice_direct_to_actor")
int BPF_PROG(count_kernel_splice, void *file, void *splice, void *actor, long result)
{
	return count_kernel(FILES_READ, result);
}
