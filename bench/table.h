/* SPDX-License-Identifier: MIT */
/* table - what was measured, as Markdown. */
#pragma once

#include <stdio.h>

#include "contender.h"
#include "samples.h"
#include "startup.h"

#define PROGRAMS_MAX 16
#define STARTUPS_MAX 8

/* What one adds, of what another adds. */
enum ratio {
	RATIO_ALL_TO_REFERENCE,
	RATIO_ALL_TO_BPFTRACE,
	RATIO_T1_TO_TOOLS,
	RATIO_T1_TO_SWITCH_REFERENCE,
	RATIO_ALL_TO_TOOLS,
	RATIO_COUNT,
};

extern const struct ratio_sides {
	enum entry of, to;
} ratio_sides[RATIO_COUNT];

struct program_cost { /* of a BPF program, by the kernel's statistics */
	const char *owner;
	char name[16];
	double ns;
};

struct results {
	int repetitions, dropped;
	const char *missing[4]; /* programs that were not there */
	int missing_count;
	const char *refused; /* whom this machine does not run; NULL: it runs all */
	struct samples bare[WORK_COUNT]; /* ns a call with nothing on */
	struct samples added[ENTRY_COUNT][WORK_COUNT]; /* ns */
	struct samples ratios[RATIO_COUNT][WORK_COUNT]; /* of one repetition's added costs */
	struct samples requests[ENTRY_COUNT]; /* ns that programs took of a request to a block
						 device */
	struct samples request_ratio;
	struct program_cost programs[PROGRAMS_MAX];
	int program_count;
	struct startup startups[STARTUPS_MAX];
	int startup_count;
};

/* System calls, and all that belongs to them. */
void table_print_calls(struct results *r, FILE *out);
/* System calls by name, against those who count them too. */
void table_print_syscalls(struct results *r, FILE *out);
/* Calls on sockets and requests to block devices. */
void table_print_devices(struct results *r, FILE *out);
/* T1 at switches, against those who measure switches too. */
void table_print_switches(struct results *r, FILE *out);
