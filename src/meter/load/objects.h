/* SPDX-License-Identifier: MIT */
/*
 * objects - the BPF objects of the meter and their hooks, in the kernel: their maps, programs and
 * links by their descriptors, which is all that is needed of them once they are loaded and
 * attached.
 *
 * What cannot be loaded or attached is off and says why; it never stops the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "load/entries.h"
#include "load/hooks.h"
#include "load/loading.h"
#include "load/pins.h"

struct error;
struct watch;

/* Of one hook; negative: not loaded, not attached. */
struct attachment {
	int program_fd, link_fd;
};

struct cpu_clocks { /* one of each CPU that is online */
	int *fds; /* of perf events; the program is detached as they are closed */
	size_t count;
};

struct objects {
	struct hooks hooks;
	struct attachment attachments[HOOKS_MAX]; /* parallel to the hooks */
	struct cpu_clocks clocks; /* that run the sampler, this process' own */
	struct older older;
	struct object_map maps[MAPS_MAX];
	size_t map_count;
	struct watch *watches[OBJECT_COUNT]; /* the kernel's own memory; NULL: not loaded, or it has
						none */

	struct pins pins; /* where they are pinned too; empty: nowhere */
	int pinned_hooks_fd; /* of a set that is sealed: a map; see pinned.h */
	bool is_taken_over; /* another process made them */
	bool has_removed_pins; /* of others, which counted until then */
	bool is_kept; /* they are to outlive us */
};

/*
 * Load and attach the wanted objects, or take over a pinned set; other pinned sets are removed.
 * @pin_error: why pinning failed, "" if it did not; unpinned objects end with this process.  @ret
 * need not be cleared before.
 */
void objects_open(const struct opening *opening, struct error *pin_error, struct objects *ret);
/* Give back all, and remove the pins unless they are kept. */
void objects_close(struct objects *o);

/* NULL: not loaded, or there is none of that name.  What objects share is the first one's. */
const struct object_map *objects_find_map(const struct objects *o, enum object_id id,
					  const char *map);
/* The same map's descriptor, which stays the objects'; -ENOENT. */
int objects_map_fd(const struct objects *o, enum object_id id, const char *map);

/* To go over its entries; see entries.h. */
struct entries objects_entries(const struct objects *o, enum object_id id, const char *map);

/* How many entries that map has now; 0 where it is not loaded. */
size_t objects_count_entries(const struct objects *o, enum object_id id, const char *map);

/* -ENOENT: not loaded. */
int objects_program_fd(const struct objects *o, const char *program);
/* -ENOENT: not attached. */
int objects_link_fd(const struct objects *o, const char *program);

/* Run an iterator to its end and discard its output; 0 if it is not attached. */
int objects_iterate(const struct objects *o, const char *program);

/* Drop all counts.  No group may be watched meanwhile, else half of a task's counts would go. */
void objects_forget_counts(struct objects *o);

/* Begin an epoch: changed rows are reported again (see bpf/rows.bpf.h).  Returns whether a report
 * was missed in the last one. */
bool objects_begin_epoch(const struct objects *o);

/* It was seen to count right, if it is on. */
void objects_believe(struct objects *o, const char *program);

/* It is on, but does not see what it should: it is off, and @why is its reason.  One of tier "T2+"
 * is detached. */
void objects_disbelieve(struct objects *o, const char *program, const char *why);

/* ---- for the functions that fill them ---- */

/* Takes @fd over, on failure too. */
int objects_add_map(struct objects *o, enum object_id id, const struct map_form *form, int fd);
/* Is any of the object's programs loaded? */
bool objects_has_program(const struct objects *o, enum object_id id);
/* Close all descriptors; hooks and pins stay as they are. */
void objects_let_go(struct objects *o);

/* ---- */

/* The maps of all objects but those on demand, on a kernel that loads them all; needs no kernel.
 * @ret has room for MAPS_MAX.  -ENOMEM. */
int objects_plan(const struct sizing *sizing, struct object_map *ret, size_t *ret_count);
