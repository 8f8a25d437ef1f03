// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * fentry - events that only trampolines on kernel functions see.  It adds to files, whose maps it
 * shares: some kernels have no trampolines, and all skip their programs now and then (a task that
 * is preempted inside one hides it from the others on its CPU).
 */
#include "bpf/kthreads.bpf.h"
#include "bpf/libaio.bpf.h"
#include "bpf/places.bpf.h"
#include "bpf/skipped.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";
