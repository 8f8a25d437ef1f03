/* SPDX-License-Identifier: MIT */
#include "translation.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <bpf/btf.h>

/* The struct itself, where @id is one by other names; NULL: it is none. */
static const struct btf_type *find_struct(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	for (int depth = 0; type && (btf_is_mod(type) || btf_is_typedef(type)) && depth < 16; depth++)
		type = btf__type_by_id(btf, type->type);
	return type && btf_is_struct(type) ? type : NULL;
}

static const struct btf_member *find_member(const struct btf *btf, const struct btf_type *type,
					    const char *name, size_t length, size_t *ret_offset)
{
	const struct btf_member *members = btf_members(type);

	for (unsigned int i = 0; i < btf_vlen(type); i++) {
		const char *its = btf__name_by_offset(btf, members[i].name_off);
		unsigned int bits = btf_member_bit_offset(type, i);

		if (!its || strncmp(its, name, length) != 0 || its[length])
			continue;
		if (bits % 8 || btf_member_bitfield_size(type, i))
			return NULL;
		*ret_offset = bits / 8;
		return &members[i];
	}
	return NULL;
}

/* Where the member stands in @type.  -ENOENT: there is none of that name and size. */
static int find_offset(const struct btf *btf, const struct btf_type *type, const char *name, size_t size,
		       size_t *ret)
{
	size_t sum = 0;

	for (;;) {
		size_t length = strcspn(name, "."), offset;
		const struct btf_member *member = type ? find_member(btf, type, name, length, &offset) : NULL;

		if (!member)
			return -ENOENT;
		sum += offset;
		if (!name[length]) {
			*ret = sum;
			return btf__resolve_size(btf, member->type) == (long long)size ? 0 : -ENOENT;
		}
		name += length + 1;
		type = find_struct(btf, member->type);
	}
}

int translation_make(const struct btf *btf, uint32_t id, size_t size, const struct member *members, size_t count,
		     struct translation *ret)
{
	const struct btf_type *type = find_struct(btf, id);
	struct translation t = {};

	assert(count <= TRANSLATION_MAX);
	if (!type || type->size > size)
		return -ENOENT;
	for (size_t i = 0; i < count; i++) {
		const struct member *m = &members[i];
		size_t from;

		if (find_offset(btf, type, m->name, m->size, &from) >= 0 && from + m->size <= type->size) {
			t.steps[t.count].from = from;
			t.steps[t.count].to = m->offset;
			t.steps[t.count++].size = m->size;
		} else if (m->is_needed) {
			return -ENOENT;
		} else if (!t.missing) {
			t.missing = m->name;
		}
	}
	*ret = t;
	return 0;
}

void translation_apply(const struct translation *t, const void *from, void *to)
{
	for (size_t i = 0; i < t->count; i++)
		memcpy((char *)to + t->steps[i].to, (const char *)from + t->steps[i].from, t->steps[i].size);
}
