/* SPDX-License-Identifier: MIT */
#include "node/job_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "cgroup/group_tree.h"

void job_groups_clear(struct job_groups *g)
{
	for (size_t i = 0; i < g->count; i++)
		free(g->items[i].path);
	free(g->items);
	*g = (struct job_groups){};
}

static bool is_known(const struct job_groups *g, const struct identity *identity)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct identity *known = &g->items[i].identity;

		if (strcmp(known->manager, identity->manager) == 0 &&
		    strcmp(known->job, identity->job) == 0 &&
		    strcmp(known->step, identity->step) == 0)
			return true;
	}
	return false;
}

/* Groups above come first, so the first group of an identity is its top one. */
static int compare_paths(const void *a, const void *b)
{
	return strcmp(((const struct group_life *)a)->path, ((const struct group_life *)b)->path);
}

static int keep(struct job_groups *g, const struct identity_rules *rules,
		const struct group_life *life)
{
	struct identity identity;
	struct job_group *larger;

	if (life->is_cut || !identity_of(rules, life->path, &identity) || is_known(g, &identity))
		return 0;
	larger = reallocarray(g->items, g->count + 1, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	g->items = larger;
	larger[g->count] = (struct job_group){ .path = strdup(life->path), .identity = identity };
	return larger[g->count].path ? (g->count++, 0) : -ENOMEM;
}

int job_groups_list(int root_fd, const struct hierarchy *h, const struct identity_rules *rules,
		    struct job_groups *ret, struct error *err)
{
	_cleanup_(job_groups_clear) struct job_groups groups = {};
	_cleanup_free_ struct group_life *lives = NULL;
	struct group_tree *tree;
	size_t count = 0;
	int r = group_tree_open(root_fd, h, GROUPS_SEEN_MAX, &tree, err);

	if (r < 0)
		return r;
	r = group_tree_look(tree, 0, &lives, &count, err);
	group_tree_close(tree);
	if (count)
		qsort(lives, count, sizeof(*lives), compare_paths);
	for (size_t i = 0; r >= 0 && i < count; i++)
		r = keep(&groups, rules, &lives[i]);
	if (r < 0)
		return error_set_errno(err, r, "cannot find the job");
	*ret = groups;
	groups = (struct job_groups){};
	return 0;
}
