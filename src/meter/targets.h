/* SPDX-License-Identifier: MIT */
/*
 * targets - tells libbpf to what programs on typed tracepoints and iterators are attached: the number of its type, which
 * libbpf itself would search for in all that the kernel has, read anew for each object.
 */
#pragma once

struct kernel_types;

struct targets {
	int tracepoints, iterators; /* libbpf's handlers; negative: none */
};

/* From now on, until targets_stop(), for each object that is opened; to be loaded before that.  On failure nothing has
 * changed. */
int targets_start(const struct kernel_types *types, struct targets *ret);
void targets_stop(struct targets *targets);
