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

static bool blocks_row_of(uint32_t op, const struct block_value *value, struct block_row *ret)
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

int blocks_read(const struct objects *o, struct cgroup_block **ret, size_t *ret_count)
{
	_cleanup_(entries_end) struct entries e = objects_entries(o, OBJECT_BLOCK, "block_rows");
	_cleanup_free_ struct cgroup_block *blocks = NULL;
	size_t count = 0, room = 0;
	int r = 0;

	while (e.fd >= 0 && (r = entries_next(&e)) > 0) {
		const struct block_key *key = e.key;

		if (array_reserve(&blocks, &room, count, sizeof(*blocks)) < 0)
			return -ENOMEM;
		blocks[count].cgroup = key->cgroup;
		count += blocks_row_of(key->op, e.value, &blocks[count].row);
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(blocks);
	*ret_count = count;
	return 0;
}
