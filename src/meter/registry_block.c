/* SPDX-License-Identifier: MIT */
/* What block devices did, for leaves and for jobs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "registry_parts.h"

static int compare_leaves(const void *a, const void *b)
{
	const struct leaf_block *x = a, *y = b;

	return (x->leaf > y->leaf) - (x->leaf < y->leaf);
}

int registry_take_blocks(struct registry *r, const struct leaf_block *blocks, size_t count)
{
	struct leaf_block *copy = calloc(count + 1, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	if (count) {
		memcpy(copy, blocks, count * sizeof(*copy));
		qsort(copy, count, sizeof(*copy), compare_leaves);
	}
	registry_forget_blocks(r);
	r->blocks = copy;
	r->block_count = count;
	return 0;
}

void registry_forget_blocks(struct registry *r)
{
	free(r->blocks);
	r->blocks = NULL;
	r->block_count = 0;
}

/* Those of one leaf. */
static const struct leaf_block *find_blocks(const struct registry *r, uint64_t leaf, size_t *ret_count)
{
	size_t low = 0, high = r->block_count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->blocks[middle].leaf < leaf)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < r->block_count && r->blocks[end].leaf == leaf; end++)
		;
	*ret_count = end - low;
	return r->blocks + low;
}

bool registry_group_has_blocks(const struct registry *r, const struct registry_group *g)
{
	size_t count;

	(void)find_blocks(r, g->id, &count);
	return count > 0;
}

int registry_block_add_group(struct block *to, const struct registry *r, const struct registry_group *g)
{
	size_t count;
	const struct leaf_block *rows = find_blocks(r, g->id, &count);
	int code = 0;

	for (size_t i = 0; code == 0 && i < count; i++)
		code = block_add(to, rows[i].row.device, rows[i].row.op, &rows[i].row.counts);
	return code;
}

int registry_job_reserve_block(struct registry_job *j, const struct registry_group *g)
{
	size_t count;

	(void)find_blocks(j->registry, g->id, &count);
	return block_reserve(&j->block, count);
}

void registry_job_add_block(struct registry_job *j, const struct registry_group *g)
{
	(void)registry_block_add_group(&j->block, j->registry, g); /* there is room */
	j->lacks_block |= !registry_has(j->registry, COUNTED_BLOCK);
}
