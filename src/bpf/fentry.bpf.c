// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * fentry - what only trampolines on the kernel's functions show.  It adds to files, whose maps it shares: some
 * kernels have no trampolines, and all skip their programs now and then (a task that is preempted inside one
 * hides it from the others on its CPU).
 */
#include "kthreads.bpf.h"
#include "libaio.bpf.h"
#include "places.bpf.h"
#include "skipped.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
