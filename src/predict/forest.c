/* SPDX-License-Identifier: MIT */
#include "predict/forest.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "predict/feature.h"

struct forest_head { /* of the bytes; the nodes follow, then the roots */
	float base;
	uint32_t nodes, roots, unused;
};

double forest_predict(const struct forest *forest, const float *row)
{
	double sum = forest->base;

	for (size_t i = 0; i < forest->root_count; i++) {
		const struct forest_node *node = &forest->nodes[forest->roots[i]];

		while (node->feature >= 0)
			node = &forest->nodes[row[node->feature] < node->value ? node->yes
									       : node->no];
		sum += node->value;
	}
	return sum;
}

void forest_clear(struct forest *forest)
{
	free(forest->nodes);
	free(forest->roots);
	*forest = (struct forest){};
}

int forest_write(const struct forest *forest, FILE *out)
{
	const struct forest_head head = { .base = forest->base,
					  .nodes = (uint32_t)forest->count,
					  .roots = (uint32_t)forest->root_count };

	if (fwrite(&head, sizeof(head), 1, out) != 1 ||
	    fwrite(forest->nodes, sizeof(*forest->nodes), forest->count, out) != forest->count ||
	    fwrite(forest->roots, sizeof(*forest->roots), forest->root_count, out) !=
		    forest->root_count)
		return -EIO;
	return 0;
}

/* A node's children stand behind it, so that each walk ends. */
static bool is_whole(const struct forest *forest)
{
	for (size_t i = 0; i < forest->count; i++) {
		const struct forest_node *node = &forest->nodes[i];

		if (!isfinite(node->value) || node->feature < -1 || node->feature >= FEATURES)
			return false;
		if (node->feature >= 0 && (node->yes <= i || node->yes >= forest->count ||
					   node->no <= i || node->no >= forest->count))
			return false;
	}
	for (size_t i = 0; i < forest->root_count; i++) {
		if (forest->roots[i] >= forest->count)
			return false;
	}
	return isfinite(forest->base);
}

int forest_read(const void *bytes, size_t size, struct forest *ret)
{
	struct forest_head head;
	size_t nodes, roots;

	*ret = (struct forest){};
	if (size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	nodes = head.nodes * sizeof(*ret->nodes);
	roots = head.roots * sizeof(*ret->roots);
	if (!nodes || !roots || head.nodes > FOREST_NODES_MAX ||
	    size != sizeof(head) + nodes + roots)
		return -EBADMSG;
	*ret = (struct forest){ .nodes = malloc(nodes),
				.roots = malloc(roots),
				.count = head.nodes,
				.root_count = head.roots,
				.base = head.base };
	if (!ret->nodes || !ret->roots) {
		forest_clear(ret);
		return -ENOMEM;
	}
	memcpy(ret->nodes, (const char *)bytes + sizeof(head), nodes);
	memcpy(ret->roots, (const char *)bytes + sizeof(head) + nodes, roots);
	if (is_whole(ret))
		return 0;
	forest_clear(ret);
	return -EBADMSG;
}
