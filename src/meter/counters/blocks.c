/* SPDX-License-Identifier: MIT */
#include "counters/blocks.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "bpf/block_rows.h" /* the kernel side's */
#include "basic/cleanup.h"
#include "load/entries.h"
#include "load/objects.h"

static_assert((int)BLOCK_DOES_READ == BLOCK_READ && (int)BLOCK_DOES_WRITE == BLOCK_WRITE &&
		      (int)BLOCK_DOES_DISCARD == BLOCK_DISCARD &&
		      (int)BLOCK_DOES_FLUSH == BLOCK_FLUSH && (int)BLOCK_DOES == BLOCK_OP_COUNT,
	      "both number operations alike");
static_assert(BLOCK_BUCKETS == HISTOGRAM_BUCKETS && BLOCK_NAME == BLOCK_DEVICE_SIZE,
	      "and have as much room");

struct list {
	struct cgroup_block *items;
	size_t count, room;
};

static void list_clear(struct list *l)
{
	free(l->items);
}

bool blocks_row_of(uint32_t op, const struct block_value *value, struct block_row *ret)
{
	if (op >= BLOCK_OP_COUNT)
		return false;
	*ret = (struct block_row){ .op = (enum block_op)op };
	memcpy(ret->device, *value->name ? value->name : BLOCK_OTHER,
	       *value->name ? sizeof(ret->device) : sizeof(BLOCK_OTHER));
	ret->device[sizeof(ret->device) - 1] = '\0';
	ret->counts.bytes = value->bytes;
	ret->counts.requests = value->requests;
	ret->counts.errors = value->errors;
	ret->counts.ns = value->ns;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		ret->counts.latencies.counts[i] = value->latencies[i];
	return true;
}

static int visit(void *list, const void *key, const void *value)
{
	const struct block_key *its = key;
	struct list *l = list;

	if (array_reserve(&l->items, &l->room, l->count, sizeof(*l->items)) < 0)
		return -ENOMEM;
	l->items[l->count].cgroup = its->cgroup;
	l->count += blocks_row_of(its->op, value, &l->items[l->count].row);
	return 0;
}

int blocks_read(const struct objects *o, struct cgroup_block **ret, size_t *ret_count)
{
	_cleanup_(list_clear) struct list list = {};
	int fd = objects_map_fd(o, OBJECT_BLOCK, "block_rows");
	int r = fd < 0 ? 0
		       : entries_visit(fd, sizeof(struct block_key), sizeof(struct block_value),
				       visit, &list);

	if (r < 0)
		return r;
	*ret = TAKE_PTR(list.items);
	*ret_count = list.count;
	return 0;
}
