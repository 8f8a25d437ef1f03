/* SPDX-License-Identifier: MIT */
#include "block.h"

#include "blocks.h"
#include "cleanup.h"
#include "collectors.h"

int collect_block(const struct objects *objects, struct block *to)
{
	_cleanup_free_ struct leaf_block *rows = NULL;
	size_t count = 0;
	int r = blocks_read(objects, &rows, &count);

	for (size_t i = 0; r == 0 && i < count; i++)
		r = block_add(to, rows[i].row.device, rows[i].row.op, &rows[i].row.counts);
	to->is_known = r == 0;
	return r;
}
