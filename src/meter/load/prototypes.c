/* SPDX-License-Identifier: MIT */
#include "load/prototypes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>

#include "load/kernel_types.h"

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
