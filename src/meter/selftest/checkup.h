/* SPDX-License-Identifier: MIT */
/*
 * checkup - all that can be found out about measuring on this machine, each hook by a real attempt
 * and its canary.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "basic/error.h"
#include "sources/gpus.h"
#include "cgroup/hierarchy.h"
#include "sources/machine.h"
#include "cgroup/managers.h"
#include "load/meter.h"
#include "model/record.h"
#include "selftest/rights.h"
#include "sources/sensors.h"

#define CHECKUP_HOOKS_MAX 64

struct checkup_tier {
	bool is_default; /* of the default set; the others add to it */
	const char *name, *gives; /* "T0", "totals" */
	size_t hook_count, on_count, checked_count;
	bool is_on; /* all hooks are on and believed */
};

#define CHECKUP_TIERS_COUNT 5

/* What more this machine offers, beside what counting needs. */
struct checkup_feature {
	const char *name, *where, *gives; /* "cycles", "perf event", "hardware counters" */
	bool is_well;
	int error; /* why not, as -Exxx; 0: not known */
	char why[160];
};

enum checkup_feature_id { CHECKUP_FENTRY, CHECKUP_CYCLES, CHECKUP_FEATURES_COUNT };

/* What each tier costs on this machine, measured: a process in a group of its own reads 4 KiB of a
 * cached file and calls getppid, without the meter and with more and more of it.  The settings take
 * turns within each round, so that what else the machine does falls on all alike. */

/* ns of one call over rounds; added ones may be below zero: noise. */
struct cost_spread {
	int64_t min_ns, median_ns, max_ns;
};

struct cost {
	const char *name; /* "files: counts" */
	bool is_known; /* all hooks of the setting were on */
	struct cost_spread read, call; /* of a 4 KiB read, and of any other call: bare in the first
					  row, added in the others */
};

#define COSTS_COUNT 5

struct costs {
	struct cost rows[COSTS_COUNT]; /* the first is without the meter */
	unsigned int rounds;
	unsigned int calls; /* of each kind a round and setting */
};

struct checkup {
	bool is_live; /* the root is this machine's own: else nothing can be tried, only read */
	struct machine machine;
	struct rights rights;
	bool has_hierarchy;
	struct hierarchy hierarchy;
	struct error why_no_hierarchy;
	bool has_memory_controller; /* where groups of ours would be made */
	struct hook hooks[CHECKUP_HOOKS_MAX];
	size_t hook_count;
	struct older older;
	struct checkup_tier tiers[CHECKUP_TIERS_COUNT];
	bool has_run; /* the hooks that are on were checked */
	int selftest_error; /* why not, as -Exxx */
	struct error why_no_selftest;
	uint64_t map_bytes; /* of the default set */
	struct checkup_feature features[CHECKUP_FEATURES_COUNT];
	bool has_costs;
	struct costs costs;
	struct error why_no_costs;
	struct managers managers;
	struct sensors sensors;
	struct gpus gpus;
};

/* @with_costs: measure them too, which takes 1.5 s.  Fails only for want of memory; then, too,
 * checkup_clear() is due. */
int checkup_make(int root_fd, bool with_costs, struct checkup *ret);
void checkup_clear(struct checkup *c);

/* The default set works: every hook of its tiers is on and was believed. */
bool checkup_is_well(const struct checkup *c);

/* What T2 could give more than it does, and why it does not, by reason; nothing where T2 is off
 * itself. */
int checkup_list_missing(const struct checkup *c, struct strings *ret);

/* Why the tier is not on, in a few words; its first reason. */
const char *checkup_why_off(const struct checkup *c, const struct checkup_tier *tier);

/* Takes some 1.5 s.  Fails where the process or its group cannot be made. */
int costs_measure(int root_fd, const struct hierarchy *h, struct costs *ret, struct error *err);
