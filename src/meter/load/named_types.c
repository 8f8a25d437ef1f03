/* SPDX-License-Identifier: MIT */
#include "load/named_types.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "basic/cleanup.h"
#include "load/kernel_types.h"

#define POINTER 1 /* the number of the one pointer that stands for all */

struct named_types {
	const struct kernel_types *from;
	struct btf *to;
	uint32_t *numbers; /* by the kernel's number, that in @to; 0: none */
	uint32_t *chosen; /* by the number in @to, the kernel's */
	uint32_t count; /* numbers that are given away in @to */
	uint32_t copied; /* those of them that are there */
	int fd;
	char path[32];
};

struct named_types *named_types_free(struct named_types *types)
{
	if (!types)
		return NULL;
	btf__free(types->to);
	free(types->numbers);
	free(types->chosen);
	if (types->fd >= 0)
		close(types->fd);
	free(types);
	return NULL;
}

static int make_empty(struct named_types *types)
{
	uint32_t count = btf__type_cnt(kernel_types_btf(types->from));

	types->to = btf__new_empty();
	types->numbers = calloc(count, sizeof(*types->numbers));
	types->chosen = calloc(count + POINTER, sizeof(*types->chosen));
	if (!types->to || !types->numbers || !types->chosen)
		return -ENOMEM;
	types->fd = memfd_create("named_types", MFD_CLOEXEC);
	if (types->fd < 0)
		return -errno;
	snprintf(types->path, sizeof(types->path), "/proc/self/fd/%d", types->fd);
	if (access(types->path, R_OK) < 0)
		return -errno; /* no /proc here */
	types->count = types->copied = POINTER;
	return btf__add_ptr(types->to, 0) == POINTER ? 0 : -EINVAL;
}

int named_types_open(const struct kernel_types *from, struct named_types **ret)
{
	struct named_types *types = calloc(1, sizeof(*types));
	int r;

	if (!types)
		return -ENOMEM;
	types->from = from;
	types->fd = -EBADF;
	r = make_empty(types);
	if (r < 0) {
		named_types_free(types);
		return r;
	}
	*ret = types;
	return 0;
}

const char *named_types_path(const struct named_types *types)
{
	return types->path;
}

static const struct btf_type *kernels(const struct named_types *types, uint32_t id)
{
	return btf__type_by_id(kernel_types_btf(types->from), id);
}

static const char *kernels_name(const struct named_types *types, uint32_t offset)
{
	return btf__name_by_offset(kernel_types_btf(types->from), offset);
}

/* The number that a type of the kernel's has, or will have: itself, and not what it is called or
 * qualified. */
static int number_of(struct named_types *types, uint32_t id)
{
	const struct btf_type *type = kernels(types, id);

	while (type && (btf_is_mod(type) || btf_is_typedef(type))) {
		id = type->type;
		type = kernels(types, id);
	}
	if (!type)
		return -EINVAL;
	if (!id)
		return 0;
	if (btf_is_ptr(type))
		return POINTER;
	if (!types->numbers[id]) {
		types->numbers[id] = ++types->count;
		types->chosen[types->count] = id;
	}
	return (int)types->numbers[id];
}

static int copy_members(struct named_types *types, const struct btf_type *type)
{
	const struct btf_member *member = btf_members(type);
	int r = 0;

	for (uint32_t i = 0; i < btf_vlen(type) && r >= 0; i++, member++) {
		r = number_of(types, member->type);
		if (r >= 0)
			r = btf__add_field(types->to, kernels_name(types, member->name_off), r,
					   btf_member_bit_offset(type, i),
					   btf_member_bitfield_size(type, i));
	}
	return r;
}

static int copy_composite(struct named_types *types, const struct btf_type *type, const char *name)
{
	int id = btf_is_union(type) ? btf__add_union(types->to, name, type->size)
				    : btf__add_struct(types->to, name, type->size);
	int r = id < 0 ? id : copy_members(types, type);

	return r < 0 ? r : id;
}

static int copy_enum(struct named_types *types, const struct btf_type *type, const char *name)
{
	const struct btf_enum *value = btf_enum(type);
	int id = btf__add_enum(types->to, name, type->size), r = 0;

	for (uint32_t i = 0; i < btf_vlen(type) && id >= 0 && r >= 0; i++, value++)
		r = btf__add_enum_value(types->to, kernels_name(types, value->name_off),
					value->val);
	return r < 0 ? r : id;
}

static int copy_enum64(struct named_types *types, const struct btf_type *type, const char *name)
{
	const struct btf_enum64 *value = btf_enum64(type);
	int id = btf__add_enum64(types->to, name, type->size, btf_kflag(type)), r = 0;

	for (uint32_t i = 0; i < btf_vlen(type) && id >= 0 && r >= 0; i++, value++)
		r = btf__add_enum64_value(types->to, kernels_name(types, value->name_off),
					  btf_enum64_value(value));
	return r < 0 ? r : id;
}

static int copy_array(struct named_types *types, const struct btf_type *type)
{
	const struct btf_array *array = btf_array(type);
	int index = number_of(types, array->index_type), element = number_of(types, array->type);

	if (index < 0 || element < 0)
		return -EINVAL;
	return btf__add_array(types->to, index, element, array->nelems);
}

/* A type by itself, and as numbers what it is made of. */
static int copy(struct named_types *types, uint32_t id)
{
	const struct btf_type *type = kernels(types, id);
	const char *name = kernels_name(types, type->name_off);

	switch (btf_kind(type)) {
	case BTF_KIND_INT:
		return btf__add_int(types->to, name, type->size, btf_int_encoding(type));
	case BTF_KIND_FLOAT:
		return btf__add_float(types->to, name, type->size);
	case BTF_KIND_ARRAY:
		return copy_array(types, type);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return copy_composite(types, type, name);
	case BTF_KIND_ENUM:
		return copy_enum(types, type, name);
	case BTF_KIND_ENUM64:
		return copy_enum64(types, type, name);
	}
	return -EINVAL; /* nothing is made of others */
}

static bool has_name(const struct btf_type *type)
{
	return type->name_off && (btf_is_composite(type) || btf_is_any_enum(type));
}

/* The name without its CO-RE flavour (___x). */
static size_t essential_length(const char *name)
{
	const char *flavour = strstr(name, "___");

	return flavour && flavour != name ? (size_t)(flavour - name) : strlen(name);
}

static int choose(struct named_types *types, const char *name)
{
	uint32_t id = 0;
	int r = 0;

	while (r >= 0 && (id = kernel_types_next(types->from, name, essential_length(name), id))) {
		if (has_name(kernels(types, id)))
			r = number_of(types, id);
	}
	return r;
}

static int write_file(const struct named_types *types)
{
	uint32_t size;
	const char *data = btf__raw_data(types->to, &size);

	if (!data)
		return -ENOMEM;
	if (ftruncate(types->fd, 0) < 0)
		return -errno;
	for (ssize_t n, done = 0; done < size; done += n) {
		n = pwrite(types->fd, data + done, size - (size_t)done, done);
		if (n < 0)
			return -errno;
	}
	return 0;
}

int named_types_add(struct named_types *types, const struct btf *local)
{
	uint32_t before = types->copied;
	int r = 0;

	for (uint32_t id = 1; id < btf__type_cnt(local) && r >= 0; id++) {
		const struct btf_type *type = btf__type_by_id(local, id);

		if (has_name(type))
			r = choose(types, btf__name_by_offset(local, type->name_off));
	}
	while (r >= 0 && types->copied < types->count) {
		r = copy(types, types->chosen[++types->copied]);
		if (r >= 0 && (uint32_t)r != types->copied)
			r = -EINVAL;
	}
	if (r < 0)
		return r;
	return types->copied > before ? write_file(types) : 0;
}
