/* SPDX-License-Identifier: MIT */
#include "predict/forest.h"

#include <stdlib.h>

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
