/* SPDX-License-Identifier: MIT */
#include "translation.h"

#include <errno.h>
#include <string.h>

#include <bpf/btf.h>

#include "cleanup.h"
#include "macro.h"
#include "test.h"

struct inner {
	uint64_t first, second;
};

struct ours {
	uint64_t calls;
	uint32_t cpu;
	struct inner ended;
	char path[8];
};

static const struct member members[] = {
	MEMBER(struct ours, calls, true),
	MEMBER(struct ours, cpu, false),
	MEMBER(struct ours, ended.first, false),
	MEMBER(struct ours, ended.second, false),
	MEMBER(struct ours, path, false),
};

/* Types that all made structs need, by their numbers. */
struct types {
	struct btf *btf;
	int u64, u32, text, inner;
};

static void free_types(struct types *t)
{
	btf__free(t->btf);
}

static void make_types(struct types *ret, unsigned int text_length)
{
	int byte;

	ret->btf = btf__new_empty();
	ASSERT(ret->btf != NULL);
	ret->u64 = btf__add_int(ret->btf, "unsigned long long", 8, 0);
	ret->u32 = btf__add_int(ret->btf, "unsigned int", 4, 0);
	byte = btf__add_int(ret->btf, "char", 1, BTF_INT_CHAR);
	ret->text = btf__add_array(ret->btf, ret->u32, byte, text_length);
	ret->inner = btf__add_struct(ret->btf, "inner", 24);
	btf__add_field(ret->btf, "added", ret->u64, 0, 0);
	btf__add_field(ret->btf, "second", ret->u64, 64, 0);
	btf__add_field(ret->btf, "first", ret->u64, 128, 0);
}

TEST(members_are_found_wherever_they_stand)
{
	_cleanup_(free_types) struct types t;
	struct translation translation;
	struct ours to = { .calls = 1 };
	struct {
		char path[8];
		uint64_t unknown, added, second, first, calls;
		uint32_t cpu, pad;
	} from = { "/a/b", 99, 98, 22, 11, 33, 44, 97 };
	int id;

	make_types(&t, 8);
	id = btf__add_struct(t.btf, "theirs", sizeof(from));
	btf__add_field(t.btf, "path", t.text, 0, 0);
	btf__add_field(t.btf, "unknown", t.u64, 64, 0);
	btf__add_field(t.btf, "ended", t.inner, 128, 0);
	btf__add_field(t.btf, "calls", t.u64, 320, 0);
	btf__add_field(t.btf, "cpu", t.u32, 384, 0);
	ASSERT_OK(translation_make(t.btf, (uint32_t)id, sizeof(from), members, ARRAY_SIZE(members), &translation));
	ASSERT(translation.missing == NULL);
	translation_apply(&translation, &from, &to);
	ASSERT_EQ(to.calls, 33);
	ASSERT_EQ(to.cpu, 44);
	ASSERT_EQ(to.ended.first, 11);
	ASSERT_EQ(to.ended.second, 22);
	ASSERT_STREQ(to.path, "/a/b");
}

TEST(types_by_other_names_are_the_same)
{
	_cleanup_(free_types) struct types t;
	struct translation translation;
	int id, number;

	make_types(&t, 8);
	number = btf__add_const(t.btf, btf__add_typedef(t.btf, "__u64", t.u64));
	id = btf__add_struct(t.btf, "theirs", 8);
	btf__add_field(t.btf, "calls", number, 0, 0);
	id = btf__add_typedef(t.btf, "theirs_t", btf__add_volatile(t.btf, id));
	ASSERT_OK(translation_make(t.btf, (uint32_t)id, 8, members, 1, &translation));
	ASSERT_EQ(translation.count, 1);
}

TEST(a_member_that_is_missing_is_named_and_left_alone)
{
	_cleanup_(free_types) struct types t;
	struct translation translation;
	struct ours to = { .cpu = 7, .path = "kept" };
	uint64_t from = 5;
	int id;

	make_types(&t, 8);
	id = btf__add_struct(t.btf, "theirs", 8);
	btf__add_field(t.btf, "calls", t.u64, 0, 0);
	ASSERT_OK(translation_make(t.btf, (uint32_t)id, 8, members, ARRAY_SIZE(members), &translation));
	ASSERT_STREQ(translation.missing, "cpu");
	translation_apply(&translation, &from, &to);
	ASSERT_EQ(to.calls, 5);
	ASSERT_EQ(to.cpu, 7);
	ASSERT_STREQ(to.path, "kept");
}

TEST(a_member_of_another_size_is_another)
{
	_cleanup_(free_types) struct types t;
	struct translation translation;
	int id;

	make_types(&t, 16);
	id = btf__add_struct(t.btf, "theirs", 32);
	btf__add_field(t.btf, "calls", t.u64, 0, 0);
	btf__add_field(t.btf, "cpu", t.u32, 64, 0);
	btf__add_field(t.btf, "path", t.text, 128, 0);
	ASSERT_OK(translation_make(t.btf, (uint32_t)id, 32, members, ARRAY_SIZE(members), &translation));
	ASSERT_STREQ(translation.missing, "ended.first");
	ASSERT_EQ(translation.count, 2);
}

TEST(without_a_needed_member_there_is_no_translation)
{
	_cleanup_(free_types) struct types t;
	struct translation translation = { .count = 42 };
	int missing, narrow;

	make_types(&t, 8);
	missing = btf__add_struct(t.btf, "theirs", 8);
	btf__add_field(t.btf, "cpu", t.u32, 0, 0);
	narrow = btf__add_struct(t.btf, "theirs", 8);
	btf__add_field(t.btf, "calls", t.u32, 0, 0);
	ASSERT_ERR(translation_make(t.btf, (uint32_t)missing, 8, members, 2, &translation), -ENOENT);
	ASSERT_ERR(translation_make(t.btf, (uint32_t)narrow, 8, members, 2, &translation), -ENOENT);
	ASSERT_EQ(translation.count, 42);
}

TEST(bits_are_no_member)
{
	_cleanup_(free_types) struct types t;
	struct translation translation;
	int id;

	make_types(&t, 8);
	id = btf__add_struct(t.btf, "theirs", 16);
	btf__add_field(t.btf, "calls", t.u64, 0, 0);
	btf__add_field(t.btf, "cpu", t.u32, 64, 3);
	ASSERT_OK(translation_make(t.btf, (uint32_t)id, 16, members, 2, &translation));
	ASSERT_STREQ(translation.missing, "cpu");
}

TEST(what_is_no_struct_or_larger_than_the_value_has_no_translation)
{
	_cleanup_(free_types) struct types t;
	struct translation translation;
	int id;

	make_types(&t, 8);
	id = btf__add_struct(t.btf, "theirs", 8);
	btf__add_field(t.btf, "calls", t.u64, 0, 0);
	ASSERT_ERR(translation_make(t.btf, (uint32_t)t.u64, 8, members, 1, &translation), -ENOENT);
	ASSERT_ERR(translation_make(t.btf, 0, 8, members, 1, &translation), -ENOENT);
	ASSERT_ERR(translation_make(t.btf, 4711, 8, members, 1, &translation), -ENOENT);
	ASSERT_ERR(translation_make(t.btf, (uint32_t)id, 4, members, 1, &translation), -ENOENT);
}
