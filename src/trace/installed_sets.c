/* SPDX-License-Identifier: MIT */
#include "trace/installed_sets.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/dir.h"
#include "basic/error.h"
#include "basic/macro.h"

static int find_directory(char *ret, struct error *err)
{
	static const char *const places[] = { "../share/jobmeter/probes", "../share/probes" };
	char program[PATH_MAX], path[PATH_MAX * 2];
	const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	program[MAX(length, 0)] = '\0';
	for (size_t i = 0; length > 0 && i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "%.*s/%s", (int)(strrchr(program, '/') - program),
			 program, places[i]);
		if (realpath(path, ret))
			return 0;
	}
	return error_set(err, -ENOENT, "there are no probe sets beside '%s'", program);
}

int installed_sets_read(const char *name, struct probe_set **ret, struct error *err)
{
	char directory[PATH_MAX];
	int r = find_directory(directory, err);

	if (r == 0)
		r = probe_set_read(directory, name, ret, err);
	return r == -ENOENT && !strchr(name, '/')
		       ? error_set(err, r, "there is no set '%s'; --list shows those there are",
				   name)
		       : r;
}

static bool is_roots_alone(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
	       !S_ISLNK(st.st_mode);
}

static int check_for_user(const struct probe_set *set, struct error *err)
{
	for (size_t i = 0; i < set->probe_count; i++) {
		const struct probe *probe = set->probes[i];

		if (probe->site != PROBE_FUNCTION && probe->site != PROBE_USDT)
			return error_set(err, -EPERM,
					 "only root may trace the set '%s': '%s' is of the kernel",
					 set->name, probe->name);
	}
	return 0;
}

int installed_sets_read_for_user(const char *name, struct probe_set **ret, struct error *err)
{
	_cleanup_(probe_set_freep) struct probe_set *set = NULL;
	_cleanup_free_ char *path = NULL;
	char directory[PATH_MAX];
	int r;

	if (strchr(name, '/') || *name == '.')
		return error_set(
			err, -EPERM,
			"only root may trace by a file: '%s' is no set that came with jobmeter",
			name);
	r = find_directory(directory, err);
	if (r < 0)
		return r;
	if (asprintf(&path, "%s/%s.probe", directory, name) < 0)
		path = NULL;
	if (!path)
		return -ENOMEM;
	if (access(path, F_OK) < 0)
		return error_set(err, -ENOENT, "there is no set '%s'", name);
	if (!is_roots_alone(directory) || !is_roots_alone(path))
		return error_set(err, -EPERM, "others than root may write to '%s'", path);
	r = probe_set_read(directory, name, &set, err);
	if (r == 0)
		r = check_for_user(set, err);
	if (r == 0)
		*ret = TAKE_PTR(set);
	return r;
}

int wanted_sets_add(struct wanted_sets *s, struct probe_set *set, struct error *err)
{
	if (s->count == SITES_SETS_MAX) {
		probe_set_free(set);
		return error_set(err, -E2BIG, "at most %d sets can be traced at once",
				 SITES_SETS_MAX);
	}
	s->items[s->count++] = set;
	return 0;
}

int wanted_sets_add_all(struct wanted_sets *s, struct error *err)
{
	_cleanup_(dir_clear) struct dir files = {};
	char directory[PATH_MAX];
	int r = find_directory(directory, err);

	if (r == 0)
		r = dir_read(AT_FDCWD, directory, SITES_SETS_MAX, &files);
	for (size_t i = 0; i < files.count && r == 0; i++) {
		char path[2 * PATH_MAX];
		struct probe_set *set;

		snprintf(path, sizeof(path), "%s/%s", directory, files.names[i]);
		r = probe_set_read(directory, path, &set, err);
		if (r == 0)
			r = wanted_sets_add(s, set, err);
	}
	return r;
}

int wanted_sets_add_list(struct wanted_sets *s, const char *names, bool is_for_user,
			 struct error *err)
{
	_cleanup_free_ char *list = strdup(names);
	char *rest = list, *name;
	int r = list ? 0 : error_set_errno(err, ENOMEM, "cannot trace");

	while (r == 0 && (name = strsep(&rest, ","))) {
		struct probe_set *set = NULL;

		r = is_for_user ? installed_sets_read_for_user(name, &set, err)
				: installed_sets_read(name, &set, err);
		if (r == 0)
			r = wanted_sets_add(s, set, err);
	}
	return r;
}

void wanted_sets_put(const struct wanted_sets *s, struct sites *sites)
{
	memcpy(sites->sets, s->items, sizeof(sites->sets));
	sites->set_count = s->count;
}

void wanted_sets_clear(struct wanted_sets *s)
{
	for (size_t i = 0; i < s->count; i++)
		probe_set_free(s->items[i]);
}
