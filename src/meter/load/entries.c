/* SPDX-License-Identifier: MIT */
#include "load/entries.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/bpf.h>

#include "basic/macro.h"

#define AT_ONCE_BYTES (256U << 10) /* a call costs more than its entries */
#define AT_ONCE_MIN 512
#define AT_ONCE_MAX (1U << 20)

struct entries entries_begin(int fd, size_t key_size, size_t value_size)
{
	return (struct entries){ .fd = fd, .key_size = key_size, .value_size = value_size };
}

void entries_end(struct entries *e)
{
	free(e->keys);
	free(e->values);
	e->keys = e->values = NULL;
}

static int make_room(struct entries *e, uint32_t room)
{
	entries_end(e);
	e->keys = calloc(room, e->key_size);
	e->values = calloc(room, e->value_size);
	e->room = room;
	return e->keys && e->values ? 0 : -ENOMEM;
}

static int begin_one_by_one(struct entries *e)
{
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info);
	int r = make_room(e, 2); /* the second key is the one before */

	if (r >= 0 && bpf_obj_get_info_by_fd(e->fd, &info, &size) < 0)
		r = -errno;
	e->is_one_by_one = true;
	e->count = info.max_entries;
	e->at = 0;
	return r;
}

static int next_one(struct entries *e)
{
	while (e->at < e->count) {
		char *key = e->keys + e->at % 2 * e->key_size;
		const char *previous = e->at ? e->keys + (e->at - 1) % 2 * e->key_size : NULL;

		if (bpf_map_get_next_key(e->fd, previous, key) < 0)
			return errno == ENOENT ? 0 : -errno;
		e->at++;
		e->key = key;
		e->value = e->values;
		if (bpf_map_lookup_elem(e->fd, key, e->values) == 0)
			return 1;
	}
	return 0;
}

static int read_batch(struct entries *e)
{
	uint32_t next = 0;
	int r = 0;

	if (e->fd < 0)
		return e->fd;
	if (!e->keys)
		r = make_room(e, (uint32_t)MAX(AT_ONCE_BYTES / (e->key_size + e->value_size),
					       (size_t)AT_ONCE_MIN));
	if (r < 0)
		return r;
	e->count = e->room;
	e->at = 0;
	/* libbpf says it by errno, and newer ones by the result too. */
	if (bpf_map_lookup_batch(e->fd, e->has_begun ? &e->place : NULL, &next, e->keys, e->values,
				 &e->count, NULL) < 0)
		r = -errno;
	if (r == -ENOSPC && e->room < AT_ONCE_MAX) { /* one bucket has more: the same again */
		r = make_room(e, e->room * 2);
		return r < 0 ? r : read_batch(e);
	}
	e->is_last = r == -ENOENT;
	if (r < 0 && !e->is_last)
		return e->has_begun ? r : begin_one_by_one(e);
	e->place = next;
	e->has_begun = true;
	return 0;
}

int entries_next(struct entries *e)
{
	while (!e->is_one_by_one && e->at == e->count) {
		int r;

		if (e->is_last)
			return 0;
		r = read_batch(e);
		if (r < 0)
			return r;
	}
	if (e->is_one_by_one)
		return next_one(e);
	e->key = e->keys + e->at * e->key_size;
	e->value = e->values + e->at++ * e->value_size;
	return 1;
}
