// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * attempts - one small program for each way of attaching that is worth knowing of and that counting
 * does not rest on.  Each is loaded alone, attached, and believed when it saw one read of the
 * process that tries.  Runs for some milliseconds in doctor only.
 */
#include "bpf/compat.bpf.h"

volatile __u32 tried_tgid; /* the process that tries */
volatile __u64 seen;

static __always_inline int see(void)
{
	if (bpf_get_current_pid_tgid() >> 32 == tried_tgid)
		__sync_fetch_and_add(&seen, 1);
	return 0; /* anything else, and the verifier refuses fentry */
}

SEC("fentry/vfs_read")
int see_fentry(void *ctx)
{
	return see();
}

SEC("kprobe/vfs_read")
int see_kprobe(void *ctx)
{
	return see();
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
