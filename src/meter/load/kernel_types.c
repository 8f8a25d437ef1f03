/* SPDX-License-Identifier: MIT */
#include "load/kernel_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "load/complaint.h"

#define BUCKETS (1U << 16)

/* Types whose names hash to one bucket are a chain, in the order of their numbers. */
struct kernel_types {
	struct btf *btf;
	uint32_t first[BUCKETS]; /* 0: none */
	uint32_t *next; /* by number; 0: it is the last */
};

static uint32_t bucket_of(const char *name, size_t length)
{
	uint32_t hash = 2166136261U; /* FNV-1a */

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619U;
	return (hash ^ hash >> 16) % BUCKETS;
}

static const char *name_of(const struct btf *btf, uint32_t id)
{
	return btf__name_by_offset(btf, btf__type_by_id(btf, id)->name_off);
}

static int make_index(struct kernel_types *types)
{
	uint32_t count = btf__type_cnt(types->btf);

	types->next = calloc(count, sizeof(*types->next));
	if (!types->next)
		return -ENOMEM;
	for (uint32_t id = count - 1; id > 0; id--) {
		const char *name = name_of(types->btf, id);
		uint32_t *first;

		if (!name || !*name)
			continue;
		first = &types->first[bucket_of(name, strlen(name))];
		types->next[id] = *first;
		*first = id;
	}
	return 0;
}

int kernel_types_make(struct btf *btf, struct kernel_types **ret)
{
	struct kernel_types *types = calloc(1, sizeof(*types));
	int r = types ? 0 : -ENOMEM;

	if (r >= 0) {
		types->btf = btf;
		r = make_index(types);
	}
	if (r < 0) {
		free(types);
		return r;
	}
	*ret = types;
	return 0;
}

int kernel_types_open(struct kernel_types **ret)
{
	struct complaint unheard;
	struct btf *btf;
	int r;

	complaint_listen(&unheard);
	btf = btf__load_vmlinux_btf();
	complaint_stop();
	r = btf ? kernel_types_make(btf, ret) : -ENOENT;
	if (r < 0)
		btf__free(btf);
	return r;
}

struct kernel_types *kernel_types_free(struct kernel_types *types)
{
	if (!types)
		return NULL;
	btf__free(types->btf);
	free(types->next);
	free(types);
	return NULL;
}

void kernel_types_freep(struct kernel_types **types)
{
	kernel_types_free(*types);
}

struct btf *kernel_types_btf(const struct kernel_types *types)
{
	return types->btf;
}

uint32_t kernel_types_next(const struct kernel_types *types, const char *name, size_t length,
			   uint32_t before)
{
	uint32_t id = before ? types->next[before] : types->first[bucket_of(name, length)];

	for (; id; id = types->next[id]) {
		const char *its = name_of(types->btf, id);

		if (strncmp(its, name, length) == 0 && !its[length])
			break;
	}
	return id;
}

int kernel_types_find(const struct kernel_types *types, const char *name, unsigned int kind)
{
	uint32_t id = 0;

	if (!types)
		return -ENOENT;
	while ((id = kernel_types_next(types, name, strlen(name), id))) {
		if (btf_kind(btf__type_by_id(types->btf, id)) == kind)
			return (int)id;
	}
	return -ENOENT;
}
