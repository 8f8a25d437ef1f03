/* SPDX-License-Identifier: MIT */
/*
 * gpu_work - what programs gave a GPU to do, and how long they waited for it: launches by kernel,
 * copies by direction, memory, collectives by the type of their numbers.
 *
 * It is of the host's calls: how long the GPU worked is nowhere in it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct probe;
struct rows;
struct trace_sums;

/* A kernel's name without its arguments and their types, "at::add<...>" of "_ZN2at3addIfEEvPT_", as
 * far as it goes: long names have been cut.  Others are copied as they are. */
void gpu_work_kernel_name(const char *name, char *ret, size_t size);

struct gpu_work { /* begins as {} */
	struct gpu_task *tasks;
	size_t count, room;
};

/* @label: the name of the probe's key, "0x1f" if that has none; NULL: no key, and @name is used.
 * Other kinds of probes are skipped; kernels with the same short name are summed.  -ENOMEM. */
int gpu_work_add(struct gpu_work *w, const struct probe *probe, const char *name, const char *label,
		 const struct trace_sums *sums);
void gpu_work_rows(struct gpu_work *w, uint64_t wall_ns, size_t processes, struct rows *rows);
void gpu_work_clear(struct gpu_work *w);
