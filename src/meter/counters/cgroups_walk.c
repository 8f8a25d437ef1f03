/* SPDX-License-Identifier: MIT */
/* The safety net: the tree of groups as it is now, against what the kernel side knows of it. */
#include "counters/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "basic/cleanup.h"
#include "load/entries.h"
#include "basic/error.h"
#include "bpf/groups.h"
#include "cgroup/hierarchy.h"
#include "basic/ids.h"
#include "load/meter.h"

#define DIRS_MAX 65536 /* visited in one walk */
#define GUESTS_MAX 1024 /* of those that users made in one directory */

struct walk {
	struct meter *meter;
	int groups_fd;
	struct group_entry group; /* to be added */
	char path[GROUPS_PATH]; /* of the current directory, from the root on */
	size_t path_length;
	struct id_list seen;
	int found; /* births and deaths that the programs missed */
};

/* A directory on the way, and what those in it begin with. */
struct branch {
	uint64_t id, answers;
	bool is_users; /* a user other than root may make groups in it */
	bool is_delegated; /* or in one above it */
};

/* Has the group as many groups of users as it may have? */
static bool has_used_up(const struct walk *w, uint64_t answers)
{
	int fd = objects_map_fd(meter_objects(w->meter), OBJECT_LIFE, "given_back");
	struct given_back given = {};
	struct group_entry group;

	if (bpf_map_lookup_elem(w->groups_fd, &answers, &group) < 0)
		return true;
	(void)bpf_map_lookup_elem(fd, &answers, &given);
	return (int32_t)(group.taken[SHARE_GROUPS] - given.counts[SHARE_GROUPS]) >= GROUPS_OF_ONE;
}

/* Add a group that the kernel side may not know; without room it stays unknown. */
static int tell(struct walk *w, const struct branch *parent, uint32_t maker_uid, struct branch *ret)
{
	const bool is_guest = maker_uid != 0;
	struct group_entry *group = &w->group;
	int r;

	if (bpf_map_lookup_elem(w->groups_fd, &ret->id, group) == 0) {
		ret->answers = group->answers;
		return 0;
	}
	ret->answers = is_guest ? parent->answers : ret->id;
	if (is_guest && has_used_up(w, ret->answers))
		return 0;
	*group = (struct group_entry){ .parent = parent->id,
				       .answers = ret->answers,
				       .maker_uid = maker_uid,
				       .is_guest = is_guest,
				       .is_delegated = parent->is_delegated,
				       .is_cut = w->path_length >= GROUPS_PATH };
	snprintf(group->path, sizeof(group->path), "%s", w->path);
	r = bpf_map_update_elem(w->groups_fd, &ret->id, group, BPF_NOEXIST) < 0 ? -errno : 0;
	if (r < 0)
		return r == -EEXIST || r == -E2BIG ? 0 : r;
	w->found++;
	return is_guest ? cgroups_give_back(w->meter, ret->answers, SHARE_GROUPS, -1) : 0;
}

/* Returns the length that the path had before. */
static size_t append_name(struct walk *w, const char *name)
{
	size_t before = w->path_length, room = before < GROUPS_PATH ? GROUPS_PATH - before : 0;
	bool is_root = before == 1;

	if (room)
		snprintf(w->path + (is_root ? 0 : before), room, "/%s", name);
	w->path_length = (is_root ? 0 : before) + 1 + strlen(name);
	return before;
}

static int walk_dir(struct walk *w, int fd, int level, const struct branch *at);

/* One that vanishes meanwhile is no error. */
static int walk_into(struct walk *w, int parent_fd, const char *name, const struct stat *st,
		     int level, const struct branch *parent)
{
	/* Made by a user with write access to the parent; root may also make it for another user.
	 * */
	const uint32_t maker_uid = parent->is_users ? st->st_uid : 0;
	struct branch here = { .id = st->st_ino, .is_users = is_users_directory(st) };
	size_t length = append_name(w, name);
	int fd, r = id_list_add(&w->seen, here.id);

	here.is_delegated = parent->is_delegated || here.is_users;
	if (r >= 0)
		r = tell(w, parent, maker_uid, &here);
	if (r >= 0 && level + 1 < GROUPS_LEVELS) {
		fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		r = fd < 0 ? 0 : walk_dir(w, fd, level + 1, &here);
	}
	w->path_length = length;
	if (length < GROUPS_PATH)
		w->path[length] = '\0';
	return r;
}

/* Takes @fd over. */
static int walk_dir(struct walk *w, int fd, int level, const struct branch *at)
{
	DIR *dir = fdopendir(fd);
	unsigned int guests = 0;
	struct dirent *entry;
	struct stat st;
	int r = 0;

	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (r >= 0 && w->seen.count < DIRS_MAX && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || *entry->d_name == '.')
			continue;
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (at->is_users && ++guests > GUESTS_MAX)
			break;
		r = walk_into(w, fd, entry->d_name, &st, level, at);
	}
	closedir(dir);
	return r;
}

static int open_tree(const struct meter *m, const char *path)
{
	const struct meter_options *options = meter_opened_with(m);
	_cleanup_free_ char *dir = NULL, *below = NULL;
	int fd;

	if (!options->hierarchy)
		return -EINVAL;
	dir = hierarchy_find_dir(options->hierarchy, path);
	if (!dir || asprintf(&below, ".%s", dir) < 0)
		return -ENOMEM;
	fd = openat(options->root_fd, below, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int walk_tree(struct walk *w)
{
	const struct hierarchy *h = meter_opened_with(w->meter)->hierarchy;
	const char *top = h->is_v2 ? h->v2_root : h->root[h->key];
	struct branch above = {}, here = {};
	struct stat st;
	int fd = open_tree(w->meter, top), r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0) {
		close(fd);
		return -errno;
	}
	snprintf(w->path, sizeof(w->path), "%s", top);
	w->path_length = strlen(top);
	here = (struct branch){ .id = st.st_ino, .is_users = is_users_directory(&st) };
	here.is_delegated = here.is_users;
	r = id_list_add(&w->seen, here.id);
	if (r >= 0)
		r = tell(w, &above, 0, &here);
	if (r < 0) {
		close(fd);
		return r;
	}
	return walk_dir(w, fd, 0, &here);
}

/* ---- those that are gone ---- */

/* Is the path gone, or another group's?  No if that cannot be read. */
static bool is_gone(const struct walk *w, uint64_t id, const struct group_entry *group)
{
	_cleanup_close_ int fd = open_tree(w->meter, group->path);
	struct stat st;

	if (fd < 0)
		return fd == -ENOENT || fd == -ENODEV;
	return fstat(fd, &st) == 0 && st.st_ino != id;
}

static void mark_dead(struct walk *w, uint64_t id)
{
	struct timespec now;
	struct group_entry group;

	if (bpf_map_lookup_elem(w->groups_fd, &id, &group) < 0 || group.died_ns)
		return; /* its end was seen meanwhile */
	if (!group.is_cut && !is_gone(w, id, &group))
		return; /* made while we walked, or beyond what one walk looks at */
	if (group.is_cut && w->seen.count >= DIRS_MAX)
		return;
	clock_gettime(CLOCK_BOOTTIME, &now);
	if (bpf_map_lookup_elem(w->groups_fd, &id, &group) < 0 || group.died_ns)
		return;
	group.died_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (bpf_map_update_elem(w->groups_fd, &id, &group, BPF_EXIST) == 0)
		w->found++;
}

static void mark_gone(struct walk *w, const struct id_list *living)
{
	if (!w->seen.count) /* the root itself is always seen */
		return;
	ids_sort(w->seen.items, w->seen.count);
	for (size_t i = 0; i < living->count; i++) {
		if (!ids_contain(w->seen.items, w->seen.count, living->items[i]))
			mark_dead(w, living->items[i]);
	}
}

static void count_change(const struct walk *w)
{
	int fd = objects_map_fd(meter_objects(w->meter), OBJECT_LIFE, "generations");
	uint32_t told = GENERATION_TOLD;
	uint64_t generation;

	if (!w->found || bpf_map_lookup_elem(fd, &told, &generation) < 0)
		return;
	generation++;
	(void)bpf_map_update_elem(fd, &told, &generation, BPF_ANY);
}

int cgroups_walk(struct meter *m, struct error *err)
{
	struct walk w = { .meter = m,
			  .groups_fd = objects_map_fd(meter_objects(m), OBJECT_LIFE, "groups") };
	_cleanup_(entries_end) struct entries e = objects_entries(meter_objects(m), OBJECT_LIFE,
								  "groups");
	struct id_list living = {};
	int r = 0;

	/* Those that live before the walk, which cannot miss a group that is made meanwhile. */
	while (r >= 0 && (r = entries_next(&e)) > 0) {
		if (!((const struct group_entry *)e.value)->died_ns)
			r = id_list_add(&living, *(const uint64_t *)e.key);
	}
	if (r >= 0)
		r = walk_tree(&w);
	if (r >= 0) {
		mark_gone(&w, &living);
		count_change(&w);
	}
	id_list_clear(&w.seen);
	id_list_clear(&living);
	if (r >= 0 && meter_is_on(m, "begin_group")) /* else unknown leaves may be counted */
		r = cgroups_forget_strays(m);
	return r < 0 ? error_set_errno(err, r, "cannot walk the tree of groups") : w.found;
}
