/* SPDX-License-Identifier: MIT */
#include "maps.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include "skeletons.h"

bool maps_are_shared(enum object_id id)
{
	return id == OBJECT_FENTRY;
}

int maps_share(const struct any_bpf *bpf, const struct any_bpf *files)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, bpf->object) {
		const struct bpf_map *shared =
			bpf_object__find_map_by_name(files->object, bpf_map__name(map));
		int r;

		if (!shared || bpf_map__is_internal(map))
			continue;
		r = bpf_map__reuse_fd(map, bpf_map__fd(shared));
		if (r < 0)
			return r;
	}
	return 0;
}

/* Is it also of the object files, whose maps others share? */
static bool is_of_files(struct any_bpf *const *items, size_t id, const struct bpf_map *map)
{
	return maps_are_shared((enum object_id)id) && items[OBJECT_FILES] && !bpf_map__is_internal(map) &&
	       bpf_object__find_map_by_name(items[OBJECT_FILES]->object, bpf_map__name(map));
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
		bpf_object__for_each_map(map, items[id]->object) {
			if (is_of_files(items, id, map))
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
	}
}
