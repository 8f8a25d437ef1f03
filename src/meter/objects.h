/* SPDX-License-Identifier: MIT */
/*
 * objects - the BPF objects of the meter and their hooks: opened, given their settings and the maps that they
 * share, loaded, and attached program by program.
 *
 * What cannot be loaded or attached is off and says why; it never stops the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "complaint.h"
#include "hooks.h"
#include "sizing.h"

struct files_bpf;
struct settings;
struct tasks_bpf;

struct objects {
	struct any_bpf *items[OBJECT_COUNT]; /* NULL: not loaded */
	struct hooks hooks;
	struct complaint complaint; /* of the last load */
	bool needs_older;           /* this kernel takes the code for older ones only */
};

/* A map of theirs; what two objects share is one. */
struct object_map {
	struct map_form form;
	uint64_t bytes; /* that the kernel takes for it */
	int fd;         /* the objects'; negative: it was only planned */
};
#define MAPS_MAX 64

/* Load and attach the objects of the tiers in @wanted (bit by object_id).  @ret need not be cleared
 * before; objects_close() gives back all.  Settings are the same in all. */
void objects_open(unsigned int wanted, const struct settings *settings,
		  const struct sizing *sizing, uint64_t watched_id, struct objects *ret);
void objects_close(struct objects *o);

struct tasks_bpf *objects_tasks(const struct objects *o); /* NULL: not loaded */
struct files_bpf *objects_files(const struct objects *o);

/* From now on count the subtree of this cgroup (0: the whole node), and drop what was counted so far. */
void objects_watch(struct objects *o, uint64_t id);

/* From now on follow files one by one, if the settings say so. */
void objects_follow_files(struct objects *o);

/* It is on, but does not see what it should: it is off, and @why is its reason.  One of tier "T2+" is detached. */
void objects_disbelieve(struct objects *o, const char *program, const char *why);

/* How often the kernel skipped programs that only fentry can attach, which is when one is preempted and
 * another task comes by. */
uint64_t objects_skipped_runs(const struct objects *o);

/* All maps; @ret has room for MAPS_MAX.  Returns how many. */
size_t objects_list_maps(const struct objects *o, struct object_map *ret);
/* Bytes that all maps take, as sizing has it; tasks that live take more. */
uint64_t objects_map_bytes(const struct objects *o);

/* The maps that all objects would have, on a kernel that loads them all; asks no kernel.  -ENOMEM. */
int objects_plan(const struct sizing *sizing, struct object_map *ret, size_t *ret_count);

/* -ENOENT: not loaded. */
int objects_program_fd(const struct objects *o, const char *program);
