/* SPDX-License-Identifier: MIT */
/* kernel_one - the differences of a kernel side for one cgroup: it is the only one, and slow
 * questions are allowed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/error.h"

struct hierarchy;
struct meter;
struct place_names;
struct record;
struct registry;
struct sampler_one;
struct sampler_options;

struct kernel_one { /* begins as { .one } */
	const struct sampler_one *one; /* NULL: all groups are counted, and nothing of this is
					  called */
	uint64_t began_ns; /* its command, by CLOCK_BOOTTIME; 0: before us */
	bool is_learned, is_following; /* it is; its files are, one by one */
	uint64_t open_syscalls; /* as they were read last */
	struct error why_no_canary;
};

/* Only its group is counted, and hooks are tried by less, since somebody waits. */
int kernel_one_open(struct kernel_one *o, const struct sampler_options *wanted,
		    const struct hierarchy *h, struct meter **ret, struct error *err);
int kernel_one_learn(struct kernel_one *o, struct registry *registry, uint64_t boot_ns,
		     uint64_t real_ns);

/* What was counted on demand, file by file and by system call; @names are refreshed. */
int kernel_one_add_details(struct kernel_one *o, struct meter *m, struct place_names *names,
			   struct record *record, struct error *err);
/* The number of system calls that have not returned. -ENOMEM, -ENOSPC. */
int kernel_one_note_open(uint64_t open, struct record *record);
int kernel_one_describe(const struct kernel_one *o, const struct meter *m, struct record *record);
