/* SPDX-License-Identifier: MIT */
#include "watch_groups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "error.h"
#include "hierarchy.h"
#include "identity.h"
#include "macro.h"
#include "watch_target.h"

#define DEPTH_MAX 24
#define PATH_SIZE 4096

struct found { /* the top group of a job or step */
	char *path;
	struct identity identity;
};

struct walk {
	int root_fd;
	const struct hierarchy *hierarchy;
	struct found *items;
	size_t count, seen;
};

static void walk_clear(struct walk *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->items[i].path);
	free(w->items);
}

static bool is_known(const struct walk *w, const struct identity *identity)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct identity *known = &w->items[i].identity;

		if (strcmp(known->manager, identity->manager) == 0 &&
		    strcmp(known->job, identity->job) == 0 &&
		    strcmp(known->step, identity->step) == 0)
			return true;
	}
	return false;
}

/* Groups above are visited first, so the first group of an identity is its top one. */
static int keep(struct walk *w, const char *path)
{
	struct found found = {}, *larger;

	if (!identity_of(NULL, path, &found.identity) || is_known(w, &found.identity))
		return 0;
	larger = reallocarray(w->items, w->count + 1, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	w->items = larger;
	found.path = strdup(path);
	if (!found.path)
		return -ENOMEM;
	w->items[w->count++] = found;
	return 0;
}

static void closedirp(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

static DIR *open_group(const struct walk *w, const char *path)
{
	_cleanup_free_ char *folder = hierarchy_find_folder(w->hierarchy, path), *below = NULL;
	int fd;

	if (!folder || asprintf(&below, ".%s", folder) < 0) {
		below = NULL;
		return NULL;
	}
	fd = openat(w->root_fd, below, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? NULL : fdopendir(fd);
}

static int visit(struct walk *w, const char *path, int depth)
{
	_cleanup_(closedirp) DIR *dir = open_group(w, path);
	const struct dirent *entry;
	char below[PATH_SIZE];
	int r = keep(w, path);

	while (r == 0 && dir && depth < DEPTH_MAX && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		if (w->seen++ >= WATCH_GROUPS_MAX)
			break;
		if ((size_t)snprintf(below, sizeof(below), "%s/%s",
				     strcmp(path, "/") == 0 ? "" : path,
				     entry->d_name) < sizeof(below))
			r = visit(w, below, depth + 1);
	}
	return r;
}

/* Jobs only, or the steps of the job with @target's id. */
static int choose(const struct walk *w, const struct watch_target *target, const char *step,
		  size_t *ret, struct error *err)
{
	_cleanup_free_ struct watch_candidate *candidates =
		calloc(w->count + 1, sizeof(*candidates));
	_cleanup_free_ size_t *places = calloc(w->count + 1, sizeof(*places));
	size_t count = 0, chosen;
	int r;

	if (!candidates || !places)
		return error_set_errno(err, ENOMEM, "cannot look for the job");
	for (size_t i = 0; i < w->count; i++) {
		const struct identity *identity = &w->items[i].identity;

		if (strcmp(identity->step, step) != 0)
			continue;
		candidates[count] = (struct watch_candidate){ identity->manager, identity->job };
		places[count++] = i;
	}
	r = watch_target_choose(target, candidates, count, &chosen, err);
	if (r == 0)
		*ret = places[chosen];
	return r;
}

static int choose_step(const struct walk *w, const struct watch_target *target, size_t *ret,
		       struct error *err)
{
	const char *step = watch_find_step(target->id);
	_cleanup_free_ char *id =
		step ? strndup(target->id, (size_t)(step - target->id) - 1) : NULL;
	struct watch_target job = { .manager = target->manager, .id = id };
	struct error why = {};
	int r;

	if (!id)
		return -ENOENT;
	r = choose(w, &job, step, ret, &why);
	if (r == -ENOTUNIQ)
		error_set(err, r, "%s", why.text);
	return r;
}

int watch_groups_find(int root_fd, const struct hierarchy *h, const struct watch_target *target,
		      char **ret_path, struct error *err)
{
	_cleanup_(walk_clear) struct walk w = { .root_fd = root_fd, .hierarchy = h };
	size_t chosen = 0;
	int r = visit(&w, "/", 0);

	if (r < 0)
		return error_set_errno(err, r, "cannot look for the job");
	r = choose(&w, target, "", &chosen, err);
	if (r == -ENOENT)
		r = choose_step(&w, target, &chosen, err);
	if (r < 0 || chosen >= w.count)
		return r < 0 ? r : -ENOENT;
	*ret_path = TAKE_PTR(w.items[chosen].path);
	return 0;
}
