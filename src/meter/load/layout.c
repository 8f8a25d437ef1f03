/* SPDX-License-Identifier: MIT */
#include "load/layout.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "basic/fnv.h"
#include "load/loading.h"
#include "load/skeletons.h"

#define PINS_FORMAT 2 /* of what is pinned beside maps, programs and links: see pinned.c */

void layout_begin(struct layout *ret)
{
	ret->hash = FNV_BEGIN;
}

void layout_add(struct layout *l, const void *bytes, size_t size)
{
	const uint64_t length = size;

	l->hash = fnv_bytes(fnv_bytes(l->hash, &length, sizeof(length)), bytes, size);
}

void layout_add_text(struct layout *l, const char *text)
{
	layout_add(l, text, strlen(text));
}

void layout_add_number(struct layout *l, uint64_t number)
{
	layout_add(l, &number, sizeof(number));
}

void layout_format(const struct layout *l, char *ret)
{
	snprintf(ret, LAYOUT_NAME_SIZE, "%016" PRIx64, l->hash);
}

int layout_check_name(const char *name)
{
	return strlen(name) == LAYOUT_NAME_SIZE - 1 &&
			       strspn(name, "0123456789abcdef") == LAYOUT_NAME_SIZE - 1
		       ? 0
		       : -EINVAL;
}

static void add_code(struct layout *l, enum object_id id, const struct any_bpf *bpf)
{
	const void *older;
	size_t size;

	layout_add(l, bpf->skeleton->data, bpf->skeleton->data_sz);
	older = skeleton_older_code(id, &size);
	layout_add(l, older, size);
}

/* With what data and settings begin with. */
static void add_map(struct layout *l, const struct map_list *list, size_t i)
{
	const struct map_form *form = &list->forms[i];
	const void *value;
	size_t size;

	layout_add_number(l, list->objects[i]);
	layout_add_text(l, form->name);
	layout_add_number(l, form->type);
	layout_add_number(l, form->flags);
	layout_add_number(l, form->key_bytes);
	layout_add_number(l, form->value_bytes);
	layout_add_number(l, form->entries);
	value = bpf_map__is_internal(list->maps[i]) ? bpf_map__initial_value(list->maps[i], &size)
						    : NULL;
	if (value)
		layout_add(l, value, size);
}

void layout_of(const struct loading *loading, struct layout *ret)
{
	layout_begin(ret);
	layout_add_number(ret, PINS_FORMAT);
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		layout_add_number(ret, loading->items[id] != NULL);
		if (loading->items[id])
			add_code(ret, (enum object_id)id, loading->items[id]);
	}
	for (size_t i = 0; i < loading->maps.count; i++)
		add_map(ret, &loading->maps, i);
	for (size_t i = 0; i < loading->hooks->count; i++) {
		const struct hook *hook = &loading->hooks->items[i];

		layout_add_text(ret, hook->program);
		layout_add_text(ret, hook->attach);
		layout_add_number(ret, *hook->why != '\0');
	}
}
