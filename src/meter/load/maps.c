/* SPDX-License-Identifier: MIT */
#include "load/maps.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "load/skeletons.h"

/* The map that @map of object @id, which need not be loaded, is one with: that of the same name of
 * the first object before it that has one.  NULL: it is its own; so are all that libbpf makes of
 * data. */
static const struct bpf_map *find_shared(struct any_bpf *const *items, size_t id,
					 const struct bpf_map *map)
{
	const struct bpf_map *found = NULL;

	if (bpf_map__is_internal(map))
		return NULL;
	for (size_t owner = 0; owner < id && !found; owner++) {
		if (items[owner])
			found = bpf_object__find_map_by_name(items[owner]->object,
							     bpf_map__name(map));
	}
	return found;
}

int maps_share(struct any_bpf *const *items, enum object_id id)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, items[id]->object)
	{
		const struct bpf_map *found = find_shared(items, id, map);
		int r = found ? bpf_map__reuse_fd(map, bpf_map__fd(found)) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static struct map_form form_of(const struct bpf_map *map)
{
	struct map_form form = {
		.type = bpf_map__type(map),
		.flags = bpf_map__map_flags(map),
		.key_bytes = bpf_map__key_size(map),
		.value_bytes = bpf_map__value_size(map),
		.entries = bpf_map__max_entries(map),
	};

	snprintf(form.name, sizeof(form.name), "%s", bpf_map__name(map));
	return form;
}

void maps_list(struct any_bpf *const *items, struct map_list *ret)
{
	struct bpf_map *map;

	ret->count = 0;
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		if (!items[id])
			continue;
		bpf_object__for_each_map(map, items[id]->object)
		{
			if (find_shared(items, id, map))
				continue;
			assert(ret->count < MAPS_MAX);
			ret->maps[ret->count] = map;
			ret->objects[ret->count] = (enum object_id)id;
			ret->forms[ret->count++] = form_of(map);
		}
	}
}

void maps_size(struct any_bpf *const *items, const struct sizing *sizing, struct map_list *ret)
{
	maps_list(items, ret);
	sizing_choose(sizing, ret->forms, ret->count);
	for (size_t i = 0; i < ret->count; i++) {
		if (ret->forms[i].type != BPF_MAP_TYPE_TASK_STORAGE) /* which has no bound */
			bpf_map__set_max_entries(ret->maps[i], ret->forms[i].entries);
		bpf_map__set_map_flags(ret->maps[i], ret->forms[i].flags);
	}
}
