/* SPDX-License-Identifier: MIT */
#include "load/kernel_types.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>

#include "load/complaint.h"

#define BUCKETS (1U << 16)

/* Types in one bucket are a chain, in the order of their numbers. */
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
	int r;

	if (!types)
		return -ENOMEM;
	types->btf = btf;
	r = make_index(types);
	if (r < 0)
		free(types);
	else
		*ret = types;
	return r;
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

/* ---- functions and tracepoints ---- */

static const struct btf_type *find(const struct kernel_types *types, const char *name,
				   unsigned int kind)
{
	int id = kernel_types_find(types, name, kind);

	return id < 0 ? NULL : btf__type_by_id(kernel_types_btf(types), (unsigned int)id);
}

bool prototype_has_function(const struct kernel_types *types, const char *function)
{
	return find(types, function, BTF_KIND_FUNC) != NULL;
}

bool prototype_is_in_module(const struct kernel_types *types, const char *module,
			    const char *function)
{
	struct btf *its = types ? btf__load_module_btf(module, kernel_types_btf(types)) : NULL;
	bool is_there = its && btf__find_by_name_kind(its, function, BTF_KIND_FUNC) >= 0;

	btf__free(its);
	return is_there;
}

/* The type that @type is made of; NULL: none. */
static const struct btf_type *inner(const struct kernel_types *types, const struct btf_type *type)
{
	return type ? btf__type_by_id(kernel_types_btf(types), type->type) : NULL;
}

int prototype_count_arguments(const struct kernel_types *types, const char *tracepoint)
{
	const struct btf_type *type;
	char name[128];

	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	type = inner(types, find(types, name, BTF_KIND_TYPEDEF)); /* of a pointer to a function */
	type = type && btf_is_ptr(type) ? inner(types, type) : NULL;
	if (!type || !btf_is_func_proto(type))
		return -ENOENT;
	return (int)btf_vlen(type) - 1; /* the first is the tracepoint's own */
}

static bool is_pointer_to(const struct btf *btf, unsigned int id, const char *name)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	if (!type || !btf_is_ptr(type))
		return false;
	type = btf__type_by_id(btf, type->type);
	while (type && btf_is_mod(type))
		type = btf__type_by_id(btf, type->type);
	return type && btf_is_struct(type) &&
	       strcmp(btf__name_by_offset(btf, type->name_off), name) == 0;
}

bool prototype_has_dentry_second(const struct kernel_types *types, const char *function)
{
	const struct btf_type *type = inner(types, find(types, function, BTF_KIND_FUNC));
	const struct btf *btf = types ? kernel_types_btf(types) : NULL;
	const struct btf_param *params;

	if (!type || btf_vlen(type) < 2)
		return false;
	params = btf_params(type);
	return !is_pointer_to(btf, params[0].type, "dentry") &&
	       is_pointer_to(btf, params[1].type, "dentry");
}

int prototype_enum_value(const struct kernel_types *types, const char *type_name, const char *name)
{
	const struct btf_type *type = find(types, type_name, BTF_KIND_ENUM);

	for (unsigned int i = 0; type && i < btf_vlen(type); i++) {
		if (strcmp(btf__name_by_offset(kernel_types_btf(types), btf_enum(type)[i].name_off),
			   name) == 0)
			return btf_enum(type)[i].val;
	}
	return -ENOENT;
}
