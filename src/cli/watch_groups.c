/* SPDX-License-Identifier: MIT */
#include "cli/watch_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "node/job_groups.h"
#include "cli/watch_target.h"

/* Jobs only, or the steps of the job with @target's id. */
static int choose(const struct job_groups *groups, const struct watch_target *target,
		  const char *step, size_t *ret, struct error *err)
{
	_cleanup_free_ struct watch_candidate *candidates = calloc(groups->count + 1,
								   sizeof(*candidates));
	_cleanup_free_ size_t *places = calloc(groups->count + 1, sizeof(*places));
	size_t count = 0, chosen;
	int r;

	if (!candidates || !places)
		return error_set_errno(err, ENOMEM, "cannot find the job");
	for (size_t i = 0; i < groups->count; i++) {
		const struct identity *identity = &groups->items[i].identity;

		if (strcmp(identity->step, step) != 0)
			continue;
		candidates[count] = (struct watch_candidate){ .manager = identity->manager,
							      .id = identity->job };
		places[count++] = i;
	}
	r = watch_target_choose(target, candidates, count, &chosen, err);
	if (r == 0)
		*ret = places[chosen];
	return r;
}

static int choose_step(const struct job_groups *groups, const struct watch_target *target,
		       size_t *ret, struct error *err)
{
	const char *step = watch_find_step(target->id);
	_cleanup_free_ char *id = step ? strndup(target->id, (size_t)(step - target->id) - 1)
				       : NULL;
	struct watch_target job = { .manager = target->manager, .id = id };
	struct error why = {};
	int r;

	if (!id)
		return -ENOENT;
	r = choose(groups, &job, step, ret, &why);
	if (r == -ENOTUNIQ)
		error_set(err, r, "%s", why.text);
	return r;
}

int watch_groups_find(int root_fd, const struct hierarchy *h, const struct watch_target *target,
		      char **ret_path, struct error *err)
{
	_cleanup_(job_groups_clear) struct job_groups groups = {};
	size_t chosen = 0;
	int r = job_groups_list(root_fd, h, NULL, &groups, err);

	if (r < 0)
		return r;
	r = choose(&groups, target, "", &chosen, err);
	if (r == -ENOENT)
		r = choose_step(&groups, target, &chosen, err);
	if (r < 0 || chosen >= groups.count)
		return r < 0 ? r : -ENOENT;
	*ret_path = TAKE_PTR(groups.items[chosen].path);
	return 0;
}
