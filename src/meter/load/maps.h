/* SPDX-License-Identifier: MIT */
/* maps - the maps of objects that are open or loaded: listed, sized, shared. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "load/hooks.h"
#include "load/sizing.h"

struct any_bpf;
struct bpf_map;

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
