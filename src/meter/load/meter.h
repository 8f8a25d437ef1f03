/* SPDX-License-Identifier: MIT */
/*
 * meter - measures a group, or the whole node, by tiers: T0 totals, T1 time by cause, T2 files by
 * mount.
 *
 * Each hook is tried by a real load and attach.  One that fails is named and never stops the rest;
 * without BPF at all a meter still reads the group's own files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "load/objects.h"
#include "model/record.h"
#include "load/tiers.h"

struct error;
struct losses;
struct meter;

struct meter_options {
	int root_fd; /* a directory that holds proc and sys */
	unsigned int tiers; /* of enum meter_tier, by BPF; 0: none */
	bool has_clock; /* T2: time of calls */
	bool has_histograms; /* T2 */
	bool has_block; /* T2: block devices */
	bool has_groups; /* count groups separately: see cgroups.h; needs the hierarchy */
	struct sizing_shape shape; /* the expected load; has_histograms and followed as here */
	unsigned int maps_memory_mib; /* for all maps together; 0: SIZING_LIMIT_MIB */
	const struct map_size *sizes; /* entries of single maps, for tests; ends with a NULL name;
					 may be NULL */
	unsigned int followed_max; /* T3: how many single files to follow; 0: none */
	bool names_syscalls; /* T3: count all system calls by name */
	uint64_t watched_id; /* count the subtree of this cgroup only; 0: the whole node */
	const struct hierarchy *hierarchy; /* the caller's, which outlives the meter, as @root_fd
					      does */
	const char *pin_dir; /* where all stays if this process ends: "/sys/fs/bpf/jobmeter"; NULL:
				nowhere */
};

/* The kernel's own number of the key controller, which its configuration makes; -1: the key is v2,
 * or the number unknown.  @h may be NULL, and @types too. */
int meter_find_subsys(const struct hierarchy *h, const struct kernel_types *types);

/* Load and attach.  Fails only for want of memory: see the hooks for what is on. */
int meter_open(const struct meter_options *options, struct meter **ret);

/*
 * With options->pin_dir.  The caller makes sure that only one process at a time has it open.
 *
 * A sealed set that another process pinned, of the same build, options and kernel, is taken over:
 * it has counted all the time.  Then the canary must not run, which would drop its counts; hooks
 * keep their state.  Anything else that is pinned there is removed.
 */
bool meter_is_taken_over(const struct meter *m);
/* Why nothing is pinned that should be; NULL: all is.  Such a meter counts, and ends with this
 * process. */
const char *meter_why_unpinned(const struct meter *m);
/* The self-test is done: from now on the pinned set may be taken over. */
int meter_seal(struct meter *m, struct error *err);
/* A set of another build or with other options was removed, with its counts. */
bool meter_has_removed_pins(const struct meter *m);
/* Identifies this meter's pinned set within this boot; 0: not pinned and sealed. */
uint32_t meter_pinned_id(const struct meter *m);
/* Is that set still in @pin_dir, for the next one to take over? */
bool meter_is_pinned(const char *pin_dir, uint32_t id);
/* Let meter_close() leave a sealed set for the next process; else it removes all. */
void meter_keep(struct meter *m);

/* From now on count the subtree of this cgroup (0: the whole node), and drop what was counted so
 * far. Nothing may run in either group meanwhile. */
void meter_watch(struct meter *m, uint64_t id);

/* Follow single files from now on: after the canary, whose files would be among them. */
void meter_follow_files(struct meter *m);

/* Count system calls by name from now on: after the canary.  @is_from_program: only from when the
 * next program is started on, so that what whoever starts it does before is not in it. */
void meter_follow_syscalls(struct meter *m, bool is_from_program);

/* A hook that is on was seen to count right. */
void meter_believe(struct meter *m, const char *program);

/* A hook is attached, but does not see what it should: it is off, and @format says why.  One that
 * was off keeps its reason. */
void meter_disbelieve(struct meter *m, const char *program, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* What it was opened with, and its objects: for other parts of the meter. */
const struct meter_options *meter_opened_with(const struct meter *m);
const struct objects *meter_objects(const struct meter *m);

/* Detach all, free @m.  NULL is fine; returns NULL. */
struct meter *meter_close(struct meter *m);
void meter_closep(struct meter **m);

/* @ret_count hooks, of every tier; they belong to the meter. */
const struct hook *meter_hooks(const struct meter *m, size_t *ret_count);
/* Which of its objects run in their code for older kernels. */
const struct older *meter_older(const struct meter *m);
/* Is the hook of that name on? */
bool meter_is_on(const struct meter *m, const char *program);
/* The one group that is counted, without has_groups; 0: each is counted separately. */
uint64_t meter_only_cgroup(const struct meter *m);
/* All hooks of a tier are on. */
bool meter_has_tier(const struct meter *m, enum meter_tier tier);
/* What of tasks, sockets and devices: COUNTED_... (see counted.h). */
unsigned int meter_counted(const struct meter *m);
bool meter_has_any_tier(const struct meter *m);

/* Counted lost so far, by enum lost_reason. */
uint64_t meter_lost(const struct meter *m, unsigned int reason);
/* Runs of programs that the kernel skipped. */
uint64_t meter_skipped_runs(const struct meter *m);
/* Ends of tasks that the kernel did not show, since the CPU was in another end that had been
 * preempted; those are counted when the tasks are freed. */
uint64_t meter_unseen_ends(const struct meter *m);
/* All maps; @ret has room for MAPS_MAX.  Returns how many. */
size_t meter_list_maps(const struct meter *m, struct object_map *ret);

/* Describe in the record what was on, missing, and lost: @losses, or (NULL) all so far. */
int meter_describe(const struct meter *m, const struct losses *losses, struct record *record);
