/* SPDX-License-Identifier: MIT */
#include "cli/watch_target.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "client/client.h"
#include "report/sentence.h"
#include "basic/text.h"
#include "node/job_groups.h"

#define NAMED_MAX 8 /* jobs that an error names */

void watch_targets_clear(struct watch_targets *targets)
{
	for (size_t i = 0; i < targets->count; i++) {
		free(targets->items[i].manager);
		free(targets->items[i].id);
	}
	*targets = (struct watch_targets){};
}

/* One of the parts between commas. */
static int parse_one(const char *text, size_t length, struct watch_target *ret)
{
	const char *slash = memchr(text, '/', length);
	size_t skipped = slash ? (size_t)(slash - text) + 1 : 0;

	if (length == skipped || skipped == 1)
		return -EINVAL;
	*ret = (struct watch_target){ .id = strndup(text + skipped, length - skipped) };
	ret->manager = slash ? strndup(text, skipped - 1) : NULL;
	return ret->id && (ret->manager || !slash) ? 0 : -ENOMEM;
}

int watch_targets_parse(const char *text, struct watch_targets *ret, struct error *err)
{
	_cleanup_(watch_targets_clear) struct watch_targets targets = {};
	const char *whole = text;

	for (;;) {
		size_t length = strcspn(text, ",");
		int r;

		if (targets.count >= WATCH_TARGETS_MAX)
			return error_set(err, -E2BIG, "at most %d jobs can be watched at once",
					 WATCH_TARGETS_MAX);
		r = parse_one(text, length, &targets.items[targets.count++]);
		if (r == -EINVAL)
			return error_set(err, r,
					 "a job is ID or MANAGER/ID, several separated by commas, "
					 "not '%s'",
					 whole);
		if (r < 0)
			return error_set_errno(err, r, "cannot read '%s'", whole);
		if (!text[length])
			break;
		text += length + 1;
	}
	*ret = targets;
	memset(&targets, 0, sizeof(targets)); /* they are the caller's now */
	return 0;
}

const char *watch_find_step(const char *id)
{
	const char *point = strrchr(id, '.');

	return point && point != id && point[1] ? point + 1 : NULL;
}

static bool is_meant(const struct watch_target *target, const struct client_job *job)
{
	return (strcmp(job->id, target->id) == 0 || text_is_equal(job->sluid, target->id) ||
		text_is_equal(job->part, target->id)) &&
	       (!target->manager || text_is_equal(job->manager, target->manager));
}

static void name_jobs(const struct watch_target *target, const struct client_job *jobs,
		      size_t count, struct sentence *s)
{
	size_t named = 0, found = 0;

	for (size_t i = 0; i < count; i++) {
		if (target && !is_meant(target, &jobs[i]))
			continue;
		if (++found > NAMED_MAX)
			continue;
		sentence_add(s, ", ", "%s/%s", jobs[i].manager, jobs[i].id);
		named++;
	}
	if (found > named)
		sentence_add(s, " ", "and %zu more", found - named);
}

static int say_none(const struct watch_target *target, const struct client_job *jobs, size_t count,
		    struct error *err)
{
	_cleanup_(sentence_freep) struct sentence s = {};

	name_jobs(NULL, jobs, count, &s);
	return error_set(err, -ENOENT, "there is no job '%s%s%s' of yours here; there %s %s",
			 target->manager ? target->manager : "", target->manager ? "/" : "",
			 target->id, count == 1 ? "is" : "are", s.text ? s.text : "none");
}

static int say_several(const struct watch_target *target, const struct client_job *jobs,
		       size_t count, struct error *err)
{
	_cleanup_(sentence_freep) struct sentence s = {};

	name_jobs(target, jobs, count, &s);
	return error_set(err, -ENOTUNIQ, "'%s' is more than one job: %s; name one with its manager",
			 target->id, s.text ? s.text : "");
}

int watch_target_choose(const struct watch_target *target, const struct client_job *jobs,
			size_t count, size_t *ret, struct error *err)
{
	size_t found = 0, chosen = 0;

	for (size_t i = 0; i < count; i++) {
		if (!is_meant(target, &jobs[i]))
			continue;
		found++;
		chosen = i;
	}
	if (found > 1)
		return say_several(target, jobs, count, err);
	if (!found)
		return say_none(target, jobs, count, err);
	*ret = chosen;
	return 0;
}

/* Jobs only, or the steps of the job with @target's id. */
static int choose(const struct job_groups *groups, const struct watch_target *target,
		  const char *step, size_t *ret, struct error *err)
{
	_cleanup_free_ struct client_job *jobs = calloc(groups->count + 1, sizeof(*jobs));
	_cleanup_free_ size_t *places = calloc(groups->count + 1, sizeof(*places));
	size_t count = 0, chosen = 0;
	int r;

	if (!jobs || !places)
		return error_set_errno(err, ENOMEM, "cannot find the job");
	for (size_t i = 0; i < groups->count; i++) {
		const struct identity *identity = &groups->items[i].identity;

		if (strcmp(identity->step, step) != 0)
			continue;
		jobs[count] = (struct client_job){ .manager = (char *)(uintptr_t)identity->manager,
						   .id = (char *)(uintptr_t)identity->job };
		places[count++] = i;
	}
	r = watch_target_choose(target, jobs, count, &chosen, err);
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
