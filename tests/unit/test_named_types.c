/* SPDX-License-Identifier: MIT */
#include "load/named_types.h"

#include <bpf/btf.h>

#include "basic/cleanup.h"
#include "load/kernel_types.h"
#include "test.h"

static void free_btf(struct btf **btf)
{
	btf__free(*btf);
}

static void free_named(struct named_types **types)
{
	named_types_free(*types);
}

/*
 * The kernel's:
 *	struct inode { int ino; };
 *	typedef struct { int counter; } atomic_t;
 *	struct file { union { const atomic_t count; struct inode *inode; }; unsigned mode : 3;
 *struct inode own[2]; }; struct other { struct file file; }; enum flags { HEAD = 7 }; enum wide {
 *FAR = 1 << 40 }; struct list { struct list *next; };
 */
static struct kernel_types *make_kernel(void)
{
	struct btf *btf = btf__new_empty();
	struct kernel_types *types;

	ASSERT(btf != NULL);
	ASSERT_EQ(btf__add_int(btf, "int", 4, BTF_INT_SIGNED), 1);
	ASSERT_EQ(btf__add_struct(btf, "inode", 4), 2);
	ASSERT_EQ(btf__add_field(btf, "ino", 1, 0, 0), 0);
	ASSERT_EQ(btf__add_ptr(btf, 2), 3);
	ASSERT_EQ(btf__add_struct(btf, NULL, 4), 4);
	ASSERT_EQ(btf__add_field(btf, "counter", 1, 0, 0), 0);
	ASSERT_EQ(btf__add_typedef(btf, "atomic_t", 4), 5);
	ASSERT_EQ(btf__add_const(btf, 5), 6);
	ASSERT_EQ(btf__add_union(btf, NULL, 8), 7);
	ASSERT_EQ(btf__add_field(btf, "count", 6, 0, 0), 0);
	ASSERT_EQ(btf__add_field(btf, "inode", 3, 0, 0), 0);
	ASSERT_EQ(btf__add_array(btf, 1, 2, 2), 8);
	ASSERT_EQ(btf__add_struct(btf, "file", 24), 9);
	ASSERT_EQ(btf__add_field(btf, NULL, 7, 0, 0), 0);
	ASSERT_EQ(btf__add_field(btf, "mode", 1, 64, 3), 0);
	ASSERT_EQ(btf__add_field(btf, "own", 8, 96, 0), 0);
	ASSERT_EQ(btf__add_struct(btf, "other", 24), 10);
	ASSERT_EQ(btf__add_field(btf, "file", 9, 0, 0), 0);
	ASSERT_EQ(btf__add_enum(btf, "flags", 4), 11);
	ASSERT_EQ(btf__add_enum_value(btf, "HEAD", 7), 0);
	ASSERT_EQ(btf__add_enum64(btf, "wide", 8, false), 12);
	ASSERT_EQ(btf__add_enum64_value(btf, "FAR", 1ULL << 40), 0);
	ASSERT_EQ(btf__add_struct(btf, "list", 8), 13);
	ASSERT_EQ(btf__add_field(btf, "next", 14, 0, 0), 0);
	ASSERT_EQ(btf__add_ptr(btf, 13), 14);
	ASSERT_EQ(kernel_types_make(btf, &types), 0);
	return types;
}

/* A program's types, of which only the names and kinds count; NULL ends the names of structs. */
static struct btf *make_local(const char *const *structs, const char *an_enum)
{
	struct btf *btf = btf__new_empty();

	for (; *structs; structs++)
		ASSERT(btf__add_struct(btf, *structs, 0) > 0);
	if (an_enum)
		ASSERT(btf__add_enum(btf, an_enum, 4) > 0);
	return btf;
}

static struct btf *read_file(const struct named_types *types)
{
	struct btf *btf = btf__parse_raw(named_types_path(types));

	ASSERT(btf != NULL);
	return btf;
}

/* 0: it is not there. */
static uint32_t find_struct(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);

	return id < 0 ? 0 : (uint32_t)id;
}

static const char *name_of(const struct btf *btf, uint32_t offset)
{
	return btf__name_by_offset(btf, offset);
}

TEST(a_named_type_is_there_with_what_it_is_made_of)
{
	_cleanup_(kernel_types_freep) struct kernel_types *kernel = make_kernel();
	_cleanup_(free_btf) struct btf *local = make_local((const char *const[]){ "file", NULL },
							   NULL);
	_cleanup_(free_named) struct named_types *types = NULL;
	_cleanup_(free_btf) struct btf *written = NULL;
	const struct btf_type *file, *part;
	const struct btf_member *members;

	ASSERT_EQ(named_types_open(kernel, &types), 0);
	ASSERT_EQ(named_types_add(types, local), 0);
	written = read_file(types);
	ASSERT(find_struct(written, "file") > 0);
	file = btf__type_by_id(written, find_struct(written, "file"));
	ASSERT_EQ(file->size, 24);
	ASSERT_EQ(btf_vlen(file), 3);
	members = btf_members(file);

	part = btf__type_by_id(written, members[0].type);
	ASSERT(btf_is_union(part));
	ASSERT_STREQ(name_of(written, members[0].name_off), "");
	ASSERT_STREQ(name_of(written, btf_members(part)[0].name_off), "count");
	ASSERT_STREQ(name_of(written, btf_members(part)[1].name_off), "inode");
	ASSERT(btf_is_ptr(btf__type_by_id(written, btf_members(part)[1].type)));
	part = btf__type_by_id(written, btf_members(part)[0].type); /* what is const, and called
								       atomic_t */
	ASSERT(btf_is_struct(part));
	ASSERT_STREQ(name_of(written, btf_members(part)[0].name_off), "counter");

	ASSERT_EQ(btf_member_bit_offset(file, 1), 64);
	ASSERT_EQ(btf_member_bitfield_size(file, 1), 3);
	ASSERT_EQ(btf_member_bit_offset(file, 2), 96);
	ASSERT_EQ(btf__resolve_size(written, members[2].type), 8);
	part = btf__type_by_id(written, btf_array(btf__type_by_id(written, members[2].type))->type);
	ASSERT_STREQ(name_of(written, part->name_off), "inode");
	ASSERT_EQ(btf_vlen(part), 1);
}

TEST(what_nobody_names_is_left_out)
{
	_cleanup_(kernel_types_freep) struct kernel_types *kernel = make_kernel();
	_cleanup_(free_btf) struct btf *local =
		make_local((const char *const[]){ "list", "nothing", NULL }, NULL);
	_cleanup_(free_named) struct named_types *types = NULL;
	_cleanup_(free_btf) struct btf *written = NULL;

	ASSERT_EQ(named_types_open(kernel, &types), 0);
	ASSERT_EQ(named_types_add(types, local), 0);
	written = read_file(types);
	ASSERT_EQ(btf__type_cnt(written), 3); /* nothing, the pointer, the list */
	ASSERT(find_struct(written, "list") > 0);
}

TEST(a_flavour_stands_for_the_type_and_enums_keep_their_values)
{
	_cleanup_(kernel_types_freep) struct kernel_types *kernel = make_kernel();
	_cleanup_(free_btf) struct btf *local =
		make_local((const char *const[]){ "inode___old", NULL }, "flags");
	_cleanup_(free_btf) struct btf *later = make_local((const char *const[]){ "inode", NULL },
							   "wide");
	_cleanup_(free_named) struct named_types *types = NULL;
	_cleanup_(free_btf) struct btf *written = NULL;
	int id;

	ASSERT_EQ(named_types_open(kernel, &types), 0);
	ASSERT_EQ(named_types_add(types, local), 0);
	ASSERT_EQ(named_types_add(types, later), 0); /* of another program, in the same file */
	written = read_file(types);
	ASSERT(find_struct(written, "inode") > 0);
	id = btf__find_by_name_kind(written, "flags", BTF_KIND_ENUM);
	ASSERT(id > 0);
	ASSERT_EQ(btf_enum(btf__type_by_id(written, (uint32_t)id))->val, 7);
	id = btf__find_by_name_kind(written, "wide", BTF_KIND_ENUM64);
	ASSERT(id > 0);
	ASSERT_EQ(btf_enum64_value(btf_enum64(btf__type_by_id(written, (uint32_t)id))), 1ULL << 40);
	ASSERT_EQ(btf__type_cnt(written), 6); /* nothing, the pointer, inode, its int, flags, wide:
						 each once */
}
