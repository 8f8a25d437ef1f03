/* SPDX-License-Identifier: MIT */
#include "load/entries.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "basic/cleanup.h"
#include "basic/macro.h"

#define AT_ONCE_BYTES                                                               \
	(256U << 10) /* a call costs the kernel more than the entries that it gives \
		      */
#define AT_ONCE_MIN 512
#define AT_ONCE_MAX (1U << 20)

struct batch {
	char *keys, *values;
	uint32_t room;
};

static void batch_clear(struct batch *b)
{
	free(b->keys);
	free(b->values);
	*b = (struct batch){};
}

static int make_room(struct batch *b, uint32_t room, size_t key_size, size_t value_size)
{
	batch_clear(b);
	b->keys = calloc(room, key_size);
	b->values = calloc(room, value_size);
	b->room = room;
	return b->keys && b->values ? 0 : -ENOMEM;
}

static int visit_one_by_one(int fd, size_t key_size, size_t value_size, entries_visitor visit,
			    void *context)
{
	_cleanup_(batch_clear) struct batch b = {};
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info);
	int r = make_room(&b, 2, key_size, value_size); /* the second key is the one before */

	if (r >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
		r = -errno;
	for (uint32_t i = 0; r >= 0 && i < info.max_entries; i++) {
		char *previous = b.keys + (i % 2 ? 0 : key_size),
		     *key = b.keys + (i % 2 ? key_size : 0);

		if (bpf_map_get_next_key(fd, i ? previous : NULL, key) < 0)
			return errno == ENOENT ? 0 : -errno;
		if (bpf_map_lookup_elem(fd, key, b.values) == 0)
			r = visit(context, key, b.values);
	}
	return r;
}

/* libbpf says it by errno, and newer ones by the result too. */
static int read_batch(int fd, const uint32_t *from, uint32_t *to, const struct batch *b,
		      uint32_t *ret_count)
{
	*ret_count = b->room;
	return bpf_map_lookup_batch(fd, (void *)from, to, b->keys, b->values, ret_count, NULL) < 0
		       ? -errno
		       : 0;
}

static uint32_t at_once(size_t entry_size)
{
	return (uint32_t)MAX(AT_ONCE_BYTES / entry_size, (size_t)AT_ONCE_MIN);
}

int entries_visit(int fd, size_t key_size, size_t value_size, entries_visitor visit, void *context)
{
	_cleanup_(batch_clear) struct batch b = {};
	uint32_t place = 0, next = 0, count;
	bool is_first = true;
	int end = 0, r = make_room(&b, at_once(key_size + value_size), key_size, value_size);

	while (r >= 0 && end == 0) {
		end = read_batch(fd, is_first ? NULL : &place, &next, &b, &count);
		if (end == -ENOSPC && b.room < AT_ONCE_MAX) { /* one bucket has more: the same again
							       */
			r = make_room(&b, b.room * 2, key_size, value_size);
			end = 0;
			continue;
		}
		if (end < 0 && end != -ENOENT) /* -ENOENT: that was the last part */
			return is_first ? visit_one_by_one(fd, key_size, value_size, visit, context)
					: end;
		for (uint32_t i = 0; i < count && r >= 0; i++)
			r = visit(context, b.keys + i * key_size, b.values + i * value_size);
		place = next;
		is_first = false;
	}
	return r;
}
