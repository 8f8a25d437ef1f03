/* SPDX-License-Identifier: MIT */
#include "prototypes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>

static const struct btf_type *find(const struct btf *btf, const char *name, unsigned int kind)
{
	int id = btf ? btf__find_by_name_kind(btf, name, kind) : -ENOENT;

	return id < 0 ? NULL : btf__type_by_id(btf, (unsigned int)id);
}

bool prototype_has_function(const struct btf *btf, const char *function)
{
	return find(btf, function, BTF_KIND_FUNC) != NULL;
}

bool prototype_is_in_module(const struct btf *btf, const char *module, const char *function)
{
	struct btf *its = btf ? btf__load_module_btf(module, (struct btf *)btf) : NULL;
	bool is_there = its && prototype_has_function(its, function);

	btf__free(its);
	return is_there;
}

int prototype_count_arguments(const struct btf *btf, const char *tracepoint)
{
	const struct btf_type *type;
	char name[128];

	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	type = find(btf, name, BTF_KIND_TYPEDEF); /* of a pointer to a function */
	type = type ? btf__type_by_id(btf, type->type) : NULL;
	type = type && btf_is_ptr(type) ? btf__type_by_id(btf, type->type) : NULL;
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

bool prototype_has_dentry_second(const struct btf *btf, const char *function)
{
	const struct btf_type *type = find(btf, function, BTF_KIND_FUNC);
	const struct btf_param *params;

	type = type ? btf__type_by_id(btf, type->type) : NULL;
	if (!type || btf_vlen(type) < 2)
		return false;
	params = btf_params(type);
	return !is_pointer_to(btf, params[0].type, "dentry") &&
	       is_pointer_to(btf, params[1].type, "dentry");
}

int prototype_enum_value(const struct btf *btf, const char *type_name, const char *name)
{
	const struct btf_type *type = find(btf, type_name, BTF_KIND_ENUM);

	for (unsigned int i = 0; type && i < btf_vlen(type); i++) {
		if (strcmp(btf__name_by_offset(btf, btf_enum(type)[i].name_off), name) == 0)
			return btf_enum(type)[i].val;
	}
	return -ENOENT;
}
