/* SPDX-License-Identifier: MIT */
/*
 * translation - a struct as another build laid it out, by its BTF, read into ours: member by member, those that have
 * the same name and size.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct btf;

/* A member of ours. */
struct member {
	const char *name; /* "ended.user_ns": of a struct inside */
	size_t offset, size;
	bool is_needed;   /* without it the rest means nothing */
};

#define MEMBER(type, member, is_needed)                                                            \
	{ #member, offsetof(type, member), sizeof(((type *)NULL)->member), is_needed }

#define TRANSLATION_MAX 32

struct translation {
	struct {
		size_t from, to, size;
	} steps[TRANSLATION_MAX];
	size_t count;
	const char *missing; /* the first of ours that is not there, which stays as it is; NULL: none is */
};

/* Of @members, TRANSLATION_MAX at most, which stay the caller's.  -ENOENT: one that is needed is missing, or @type is
 * no struct of at most @size bytes. */
int translation_make(const struct btf *btf, uint32_t type, size_t size, const struct member *members,
		     size_t count, struct translation *ret);

void translation_apply(const struct translation *t, const void *from, void *to);
