/* SPDX-License-Identifier: MIT */
/* table - what was measured, as Markdown. */
#pragma once

#include <stdio.h>

#include "contender.h"
#include "samples.h"
#include "startup.h"

#define PROGRAMS_MAX 16
#define STARTUPS_MAX 8

struct program_cost { /* of a BPF program, by the kernel's statistics */
	const char *owner;
	char name[16];
	double ns;
};

struct results {
	int repetitions, dropped;
	const char *missing[4]; /* programs that were not there */
	int missing_count;
	struct samples bare[WORK_COUNT];               /* ns a call with nothing on */
	struct samples added[ENTRY_COUNT][WORK_COUNT]; /* ns */
	/* Ratios of one repetition's added cost to another entry's. */
	struct samples to_reference[ENTRY_COUNT][WORK_COUNT];
	struct samples to_bpftrace[ENTRY_COUNT][WORK_COUNT];
	struct program_cost programs[PROGRAMS_MAX];
	int program_count;
	struct startup startups[STARTUPS_MAX];
	int startup_count;
};

void table_print(struct results *r, FILE *out);
