/* SPDX-License-Identifier: MIT */
/*
 * loading - objects on their way into the kernel: opened with their settings and sizes, then loaded
 * one by one, in the code for this kernel and without the programs that it does not take.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "load/complaint.h"
#include "load/hooks.h"
#include "load/sizing.h"

struct any_bpf;
struct bpf_map;
struct kernel_types;
struct named_types;
struct settings;

/* A map of the objects; what two of them share is one. */
struct object_map {
	struct map_form form;
	uint64_t bytes; /* that the kernel takes for it */
	int fd; /* the objects'; negative: it was only planned */
	enum object_id object;
};
#define MAPS_MAX 80

struct map_list {
	struct bpf_map *maps[MAPS_MAX];
	struct map_form forms[MAPS_MAX];
	enum object_id objects[MAPS_MAX];
	size_t count;
};

/* @items: one an object, NULL where there is none. */
void maps_list(struct any_bpf *const *items, struct map_list *ret);

/* List them and choose their entries; those of objects that are loaded stay as they are. */
void maps_size(struct any_bpf *const *items, const struct sizing *sizing, struct map_list *ret);

/* Let object @id, not yet loaded, have the maps that are others' too, which are loaded. */
int maps_share(struct any_bpf *const *items, enum object_id id);

/* What all objects are opened with. */
struct opening {
	unsigned int wanted; /* bit by object_id */
	const struct settings *settings; /* the same in all */
	const struct sizing *sizing;
	uint64_t watched_id;
	const struct kernel_types *types; /* NULL: not known */
	const char *pin_dir; /* NULL: what is loaded ends with this process */
};

struct targets {
	int handlers[3]; /* libbpf's: of tracepoints, iterators, clocks; negative: none */
};

struct loading {
	const struct opening *opening;
	struct hooks *hooks; /* the caller's; those that cannot be are off and say why */
	struct any_bpf *items[OBJECT_COUNT]; /* NULL: not wanted, or it cannot be */
	struct map_list maps; /* of those that are open */
	struct complaint complaint; /* of the last load */
	struct complaint of_newer; /* why the kernel refused the newer code of this object */
	struct older older; /* of those that are loaded */
	struct named_types *named; /* what libbpf is given of the kernel's types; NULL: it reads
				      them itself */
	struct targets targets;
	bool needs_older; /* this kernel takes the code for older ones only */
};

/* Open what is wanted; nothing is in the kernel yet.  libbpf is heard until loading_clear(). */
void loading_prepare(const struct opening *opening, struct hooks *hooks, struct loading *ret);

/* Load one object, those with the lower number first.  NULL: it cannot be, or was not wanted. */
struct any_bpf *loading_load(struct loading *l, enum object_id id);

void loading_clear(struct loading *l);
