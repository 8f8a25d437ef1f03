/* SPDX-License-Identifier: MIT */
#include "load/kernel_types.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/btf.h>

#include "basic/cleanup.h"
#include "test.h"

/* An int, an unnamed pointer to it, and two structs and a typedef of one name. */
static struct kernel_types *make_types(void)
{
	struct kernel_types *types;
	struct btf *btf = btf__new_empty();

	ASSERT(btf != NULL);
	ASSERT_EQ(btf__add_int(btf, "int", 4, 0), 1);
	ASSERT_EQ(btf__add_ptr(btf, 1), 2);
	ASSERT_EQ(btf__add_struct(btf, "file", 8), 3);
	ASSERT_EQ(btf__add_typedef(btf, "file", 1), 4);
	ASSERT_EQ(btf__add_struct(btf, "files", 16), 5);
	ASSERT_EQ(btf__add_struct(btf, "file", 32), 6);
	ASSERT_EQ(kernel_types_make(btf, &types), 0);
	return types;
}

TEST(a_type_is_found_by_its_name_and_kind)
{
	_cleanup_(kernel_types_freep) struct kernel_types *types = make_types();

	ASSERT_EQ(kernel_types_find(types, "file", BTF_KIND_STRUCT), 3);
	ASSERT_EQ(kernel_types_find(types, "file", BTF_KIND_TYPEDEF), 4);
	ASSERT_EQ(kernel_types_find(types, "files", BTF_KIND_STRUCT), 5);
	ASSERT_EQ(kernel_types_find(types, "int", BTF_KIND_INT), 1);
}

TEST(what_is_not_there_is_not_found)
{
	_cleanup_(kernel_types_freep) struct kernel_types *types = make_types();

	ASSERT_EQ(kernel_types_find(types, "file", BTF_KIND_UNION), -ENOENT);
	ASSERT_EQ(kernel_types_find(types, "fil", BTF_KIND_STRUCT), -ENOENT);
	ASSERT_EQ(kernel_types_find(types, "", BTF_KIND_PTR), -ENOENT); /* one without a name is not
									   looked for */
	ASSERT_EQ(kernel_types_find(NULL, "file", BTF_KIND_STRUCT), -ENOENT);
}

TEST(all_types_of_one_name_are_found_one_after_the_other)
{
	_cleanup_(kernel_types_freep) struct kernel_types *types = make_types();

	ASSERT_EQ(kernel_types_next(types, "file___of_old", strlen("file"), 0), 3);
	ASSERT_EQ(kernel_types_next(types, "file", strlen("file"), 3), 4);
	ASSERT_EQ(kernel_types_next(types, "file", strlen("file"), 4), 6);
	ASSERT_EQ(kernel_types_next(types, "file", strlen("file"), 6), 0);
}

TEST(each_of_many_names_is_found)
{
	_cleanup_(kernel_types_freep) struct kernel_types *types = NULL;
	struct btf *btf = btf__new_empty();
	char name[32];

	for (int i = 1; i <= 70001; i++) { /* more than there are chains */
		snprintf(name, sizeof(name), "type_%d", i);
		ASSERT_EQ(btf__add_struct(btf, name, 8), i);
	}
	ASSERT_EQ(kernel_types_make(btf, &types), 0);
	for (int i = 1; i <= 70001; i += 101) {
		snprintf(name, sizeof(name), "type_%d", i);
		ASSERT_EQ(kernel_types_find(types, name, BTF_KIND_STRUCT), i);
	}
}
