/* SPDX-License-Identifier: MIT */
#include "cgroup/group_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "cgroup/hierarchy.h"

#define NAMES_MAX 4096 /* in one directory: a user who makes more hides their own */
#define LEVELS_MAX 24

struct groups {
	struct group_life *items; /* sorted by id, once they are all there */
	size_t count, room;
	size_t most; /* that a walk adds */
};

struct group_tree {
	int fd; /* the directory of the hierarchy's top that we see */
	char *top; /* its path */
	struct groups known;
	size_t most;
	bool has_looked;
};

int group_tree_open(int root_fd, const struct hierarchy *h, size_t most, struct group_tree **ret,
		    struct error *err)
{
	const char *top = h->is_v2 ? h->v2_root : h->root[h->key];
	_cleanup_free_ char *dir = hierarchy_find_dir(h, top), *below = NULL;
	struct group_tree *t = calloc(1, sizeof(*t));

	if (t)
		*t = (struct group_tree){ .fd = -EBADF,
					  .most = most,
					  .top = strdup(strcmp(top, "/") == 0 ? "" : top) };
	if (!dir || !t || !t->top || asprintf(&below, ".%s", dir) < 0) {
		group_tree_close(t);
		return -ENOMEM;
	}
	t->fd = openat(root_fd, below, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->fd < 0) {
		int r = error_set_errno(err, errno, "cannot open the groups in '%s'", dir);

		group_tree_close(t);
		return r;
	}
	*ret = t;
	return 0;
}

struct group_tree *group_tree_close(struct group_tree *t)
{
	if (!t)
		return NULL;
	if (t->fd >= 0)
		close(t->fd);
	free(t->known.items);
	free(t->top);
	free(t);
	return NULL;
}

static struct group_life *add(struct groups *g)
{
	if (array_reserve(&g->items, &g->room, g->count, sizeof(*g->items)) < 0)
		return NULL;
	return &g->items[g->count++];
}

/* A directory on the way. */
struct branch {
	uint64_t id;
	bool is_users, is_delegated; /* users other than root may make groups in it, or in one above
					it */
};

static struct branch branch_of(const struct stat *st, bool is_delegated)
{
	bool is_users = is_users_directory(st);

	return (struct branch){ st->st_ino, is_users, is_users || is_delegated };
}

static int note(struct groups *g, const char *path, const struct stat *st,
		const struct branch *parent)
{
	struct group_life *group = add(g);

	if (!group)
		return -ENOMEM;
	*group = (struct group_life){ .id = st->st_ino,
				      .parent = parent->id,
				      .maker_uid = parent->is_users ? st->st_uid : 0,
				      .is_delegated = parent->is_delegated };
	group->is_cut = strlen(path) >= sizeof(group->path);
	snprintf(group->path, sizeof(group->path), "%s", path);
	return 0;
}

/* Other entries are files of the group above, and are not read. A group with none below it has
 * two links on every kernel, and need not be opened. */
static bool is_dir(const struct dirent *entry, int dir_fd, struct stat *ret)
{
	return (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
	       strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
	       fstatat(dir_fd, entry->d_name, ret, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(ret->st_mode);
}

static int walk(struct groups *g, int fd, const char *path, const struct branch *at, int level);

static int walk_into(struct groups *g, int dir_fd, const char *name, const struct stat *st,
		     const char *path, const struct branch *parent, int level)
{
	const struct branch here = branch_of(st, parent->is_delegated);
	_cleanup_free_ char *below = NULL;
	int fd, r;

	if (asprintf(&below, "%s/%s", path, name) < 0) {
		below = NULL;
		return -ENOMEM;
	}
	r = note(g, below, st, parent);
	if (r < 0 || st->st_nlink == 2 || level + 1 >= LEVELS_MAX)
		return r;
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? 0 : walk(g, fd, below, &here, level + 1);
}

/* Takes @fd over.  Directories that vanish meanwhile are no error. */
static int walk(struct groups *g, int fd, const char *path, const struct branch *at, int level)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	struct stat st;
	int names = 0, r = 0;

	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (r >= 0 && names < NAMES_MAX && g->count < g->most && (entry = readdir(dir))) {
		if (!is_dir(entry, fd, &st))
			continue;
		names++;
		r = walk_into(g, fd, entry->d_name, &st, path, at, level);
	}
	closedir(dir);
	return r;
}

/* The top's own descriptor stays where it is. */
static int walk_all(const struct group_tree *t, struct groups *ret)
{
	struct branch top;
	struct stat st;
	int fd;

	if (fstat(t->fd, &st) < 0)
		return -errno;
	top = branch_of(&st, false);
	fd = openat(t->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : walk(ret, fd, t->top, &top, 0);
}

static int compare(const void *a, const void *b)
{
	const struct group_life *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static const struct group_life *find(const struct groups *g, uint64_t id)
{
	const struct group_life key = { .id = id };

	return g->count ? bsearch(&key, g->items, g->count, sizeof(*g->items), compare) : NULL;
}

/* Not found by a walk that was cut. */
static bool is_there(const struct group_tree *t, const struct group_life *group)
{
	const char *below = group->path + strlen(t->top);
	struct stat st;

	return fstatat(t->fd, below + (*below == '/'), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_ino == group->id;
}

/* Set when earlier groups were born, and add those that are gone. One user can make so many that
 * a walk misses groups of others: those are checked one by one. */
static int compare_with_known(const struct group_tree *t, uint64_t boot_ns, struct groups *now)
{
	size_t seen = now->count;
	const bool is_cut = seen >= t->most;

	for (size_t i = 0; i < seen; i++) {
		const struct group_life *before = find(&t->known, now->items[i].id);

		now->items[i].born_ns = before ? before->born_ns : t->has_looked ? boot_ns : 0;
	}
	for (size_t i = 0; i < t->known.count; i++) {
		const struct groups there = { .items = now->items, .count = seen };
		struct group_life *gone;

		if (t->known.items[i].died_ns || find(&there, t->known.items[i].id))
			continue;
		gone = add(now);
		if (!gone)
			return -ENOMEM;
		*gone = t->known.items[i];
		gone->died_ns = is_cut && is_there(t, gone) ? 0 : boot_ns;
	}
	return 0;
}

int group_tree_look(struct group_tree *t, uint64_t boot_ns, struct group_life **ret,
		    size_t *ret_count, struct error *err)
{
	struct groups now = { .most = t->most };
	struct group_life *copy = NULL;
	int r = walk_all(t, &now);

	if (now.count)
		qsort(now.items, now.count, sizeof(*now.items), compare);
	if (r >= 0)
		r = compare_with_known(t, boot_ns, &now);
	if (r >= 0 && now.count) {
		qsort(now.items, now.count, sizeof(*now.items), compare);
		copy = malloc(now.count * sizeof(*copy));
		r = copy ? 0 : -ENOMEM;
	}
	if (r < 0) {
		free(now.items);
		return error_set_errno(err, r, "cannot read the cgroups");
	}
	if (now.count)
		memcpy(copy, now.items, now.count * sizeof(*copy));
	free(t->known.items);
	t->known = now;
	t->has_looked = true;
	*ret = copy;
	*ret_count = now.count;
	return 0;
}
