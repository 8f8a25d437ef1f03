/* SPDX-License-Identifier: MIT */
/* Erase what the kernel side keeps of ended cgroups, and of places without rows. */
#include "basic/array.h"
#include "counters/cgroups.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "basic/cleanup.h"
#include "load/entries.h"
#include "bpf/groups.h"
#include "basic/ids.h"
#include "basic/macro.h"
#include "load/meter.h"
#include "cgroup/mounts.h"
#include "bpf/tasks.h"

/* Keys of one map. */
struct keys {
	char *items;
	size_t count, room, size;
};

static void keys_clear(struct keys *k)
{
	free(k->items);
}

static int add_key(struct keys *k, const void *key)
{
	if (array_reserve(&k->items, &k->room, k->count, k->size) < 0)
		return -ENOMEM;
	memcpy(k->items + k->count++ * k->size, key, k->size);
	return 0;
}

static const void *key_at(const struct keys *k, size_t i)
{
	return k->items + i * k->size;
}

static void sort_ids(struct keys *k)
{
	if (k->count)
		qsort(k->items, k->count, k->size, ids_compare);
}

static int map_fd(const struct meter *m, enum object_id id, const char *map)
{
	return objects_map_fd(meter_objects(m), id, map);
}

/* ---- shares ---- */

int cgroups_give_back(struct meter *m, uint64_t cgroup, enum share share, int count)
{
	int groups = map_fd(m, OBJECT_LIFE, "groups"), fd = map_fd(m, OBJECT_LIFE, "given_back");
	struct given_back given = {};
	struct group_entry group;

	if (bpf_map_lookup_elem(groups, &cgroup, &group) < 0)
		return 0; /* no group is charged for it any more */
	cgroup = group.answers;
	(void)bpf_map_lookup_elem(fd, &cgroup, &given);
	given.counts[share] += (uint32_t)count;
	/* Without room the group keeps less of its share from now on; others lose nothing. */
	return bpf_map_update_elem(fd, &cgroup, &given, BPF_ANY) < 0 ? -errno : 0;
}

/* ---- leaves ---- */

struct forgetting {
	struct meter *meter;
	const uint64_t *cgroups; /* sorted */
	size_t count;
};

/* Keys of the entries of those cgroups (NULL: of all), with which keys begin, or @is_in_value
 * values.  Whole keys, unless @ret has a size already.  -ENOENT: there is no such map. */
static int find_keys(const struct forgetting *f, enum object_id id, const char *map,
		     bool is_in_value, struct keys *ret)
{
	_cleanup_(entries_end) struct entries e = objects_entries(meter_objects(f->meter), id, map);
	int r = 0;

	ret->size = ret->size ? ret->size : e.key_size;

	while (r >= 0 && (r = entries_next(&e)) > 0) {
		const uint64_t *cgroup = is_in_value ? e.value : e.key;

		if (!f->cgroups || ids_contain(f->cgroups, f->count, *cgroup))
			r = add_key(ret, e.key);
	}
	return r;
}

/* To a group that is not forgotten itself. */
static void give_back(const struct forgetting *f, uint64_t cgroup, enum share share, int count)
{
	struct group_entry group;

	if (bpf_map_lookup_elem(map_fd(f->meter, OBJECT_LIFE, "groups"), &cgroup, &group) == 0 &&
	    !ids_contain(f->cgroups, f->count, group.answers))
		(void)cgroups_give_back(f->meter, group.answers, share, count);
}

/* Maps whose keys begin with a cgroup; what is not counted has none. */
static const struct {
	enum object_id object;
	const char *map;
	enum share share; /* that its entries are taken from; SHARE_COUNT: none */
} cgroup_maps[] = {
	{ OBJECT_LIFE, "lost_by_cgroup", SHARE_COUNT },
	{ OBJECT_TASKS, "task_totals", SHARE_COUNT },
	{ OBJECT_TASKS, "oom_kills_by_task", SHARE_COUNT },
	{ OBJECT_TIME, "task_times", SHARE_COUNT },
	{ OBJECT_FILES, "polls", SHARE_COUNT },
	{ OBJECT_FILES, "traffic_rows", SHARE_COUNT },
	{ OBJECT_SYSCALLS, "syscalls_by_cgroup", SHARE_SYSCALLS },
	/* A name before its file, since the next file reuses its slot. */
	{ OBJECT_FILES, "followed_names", SHARE_COUNT },
	{ OBJECT_FILES, "followed_files", SHARE_FILES },
	{ OBJECT_FILES, "followed_counts", SHARE_FILE_COUNTS },
	{ OBJECT_FILES, "unfollowed_by_cgroup", SHARE_COUNT },
	{ OBJECT_FILES, "open_files", SHARE_OPEN_FILES },
	{ OBJECT_BLOCK, "block_rows", SHARE_COUNT },
};

/* Those that were found, which are from one share; SHARE_COUNT: none. */
static void erase_shared(const struct forgetting *f, int fd, struct keys *found, enum share share)
{
	int erased = 0;

	sort_ids(found); /* by cgroup */
	for (size_t k = 0; k < found->count; k++) {
		uint64_t cgroup = *(const uint64_t *)key_at(found, k);

		erased += bpf_map_delete_elem(fd, key_at(found, k)) == 0;
		if (k + 1 < found->count && *(const uint64_t *)key_at(found, k + 1) == cgroup)
			continue;
		if (share != SHARE_COUNT)
			give_back(f, cgroup, share, erased);
		erased = 0;
	}
}

static int erase_cgroup_maps(const struct forgetting *f)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(cgroup_maps) && r >= 0; i++) {
		_cleanup_(keys_clear) struct keys found = {};
		int fd = map_fd(f->meter, cgroup_maps[i].object, cgroup_maps[i].map);

		if (fd < 0)
			continue;
		r = find_keys(f, cgroup_maps[i].object, cgroup_maps[i].map, false, &found);
		if (r >= 0)
			erase_shared(f, fd, &found, cgroup_maps[i].share);
	}
	return r;
}

/* Tasks that were freed unseen. */
static int erase_leaving(const struct forgetting *f)
{
	_cleanup_(keys_clear) struct keys found = {};
	int fd = map_fd(f->meter, OBJECT_TASKS, "leaving_tasks"), r;

	if (fd < 0)
		return 0;
	r = find_keys(f, OBJECT_TASKS, "leaving_tasks", true, &found);
	for (size_t i = 0; i < found.count && r >= 0; i++)
		(void)bpf_map_delete_elem(fd, key_at(&found, i));
	return r;
}

static int compare_rows(const void *a, const void *b)
{
	const struct file_key *x = a, *y = b;

	if (x->cgroup != y->cgroup)
		return x->cgroup < y->cgroup ? -1 : 1;
	return (x->place == PLACE_OTHER) - (y->place == PLACE_OTHER);
}

/* Rows of one cgroup that are taken from one share.  There is no histogram without its row. */
static void erase_rows_of(const struct forgetting *f, const struct file_key *keys, size_t count)
{
	int rows_fd = map_fd(f->meter, OBJECT_FILES, "file_rows"), rows = 0;
	int histograms_fd = map_fd(f->meter, OBJECT_FILES, "file_histograms"), histograms = 0;

	for (size_t i = 0; i < count; i++) {
		if (keys[i].op <= FILES_WRITE)
			histograms += bpf_map_delete_elem(histograms_fd, &keys[i]) == 0;
		rows += bpf_map_delete_elem(rows_fd, &keys[i]) == 0;
	}
	give_back(f, keys->cgroup, keys->place == PLACE_OTHER ? SHARE_OTHER_ROWS : SHARE_ROWS,
		  rows);
	if (histograms)
		give_back(f, keys->cgroup, SHARE_HISTOGRAMS, histograms);
}

static int erase_rows(const struct forgetting *f)
{
	_cleanup_(keys_clear) struct keys found = {};
	int r = find_keys(f, OBJECT_FILES, "file_rows", false, &found);
	const struct file_key *keys;
	size_t end;

	if (r < 0 || !found.count)
		return r == -ENOENT ? 0 : r; /* files are not counted */
	qsort(found.items, found.count, found.size, compare_rows);
	keys = (const struct file_key *)found.items;
	for (size_t i = 0; i < found.count; i = end) {
		for (end = i + 1; end < found.count && compare_rows(&keys[i], &keys[end]) == 0;
		     end++)
			;
		erase_rows_of(f, &keys[i], end - i);
	}
	return 0;
}

static void erase_group(const struct forgetting *f, uint64_t id)
{
	int fd = map_fd(f->meter, OBJECT_LIFE, "groups");
	struct group_entry group;

	if (bpf_map_lookup_elem(fd, &id, &group) < 0)
		return;
	if (group.answers != id)
		give_back(f, id, SHARE_GROUPS, 1);
	(void)bpf_map_delete_elem(map_fd(f->meter, OBJECT_LIFE, "given_back"), &id);
	(void)bpf_map_delete_elem(fd, &id);
}

int cgroups_forget(struct meter *m, const uint64_t *cgroups, size_t count)
{
	const struct forgetting f = { m, cgroups, count };
	int r;

	if (!count)
		return 0;
	r = erase_rows(&f);
	if (r >= 0)
		r = erase_cgroup_maps(&f);
	if (r >= 0)
		r = erase_leaving(&f);
	/* Its life last: after an interruption the group is found again, and erased then. */
	for (size_t i = 0; i < count && r >= 0; i++)
		erase_group(&f, cgroups[i]);
	return r;
}

/* ---- unknown cgroups ---- */

static int list_ids(struct meter *m, struct keys *ret_cgroups, struct keys *ret_known)
{
	const struct forgetting all = { .meter = m };
	int r = find_keys(&all, OBJECT_FILES, "file_rows", false, ret_cgroups);

	for (size_t i = 0; i < ARRAY_SIZE(cgroup_maps) && (r >= 0 || r == -ENOENT); i++)
		r = find_keys(&all, cgroup_maps[i].object, cgroup_maps[i].map, false, ret_cgroups);
	/* After the others, so that a group born meanwhile is known. */
	return r >= 0 || r == -ENOENT ? find_keys(&all, OBJECT_LIFE, "groups", false, ret_known)
				      : r;
}

int cgroups_forget_strays(struct meter *m)
{
	_cleanup_(keys_clear) struct keys cgroups = { .size = sizeof(uint64_t) };
	_cleanup_(keys_clear) struct keys known = { .size = sizeof(uint64_t) };
	int r = list_ids(m, &cgroups, &known);
	uint64_t *ids = (uint64_t *)cgroups.items;
	const uint64_t *known_ids = (const uint64_t *)known.items;
	size_t strays = 0;

	if (r < 0)
		return r;
	sort_ids(&cgroups);
	sort_ids(&known);
	for (size_t i = 0; i < cgroups.count; i++) {
		if (ids[i] && !(strays && ids[strays - 1] == ids[i]) &&
		    !ids_contain(known_ids, known.count, ids[i]))
			ids[strays++] = ids[i];
	}
	return cgroups_forget(m, ids, strays);
}

/* ---- places ---- */

struct unused_place {
	uint64_t place, cgroup;
};

static bool is_mounted(const struct mounts *mounts, uint32_t device)
{
	for (size_t i = 0; i < mounts->count; i++) {
		if (mounts->items[i].device == device)
			return true;
	}
	return false;
}

/* Those that rows are of, sorted. */
static int find_used_places(struct meter *m, struct keys *ret)
{
	_cleanup_(entries_end) struct entries e = objects_entries(meter_objects(m), OBJECT_FILES,
								  "file_rows");
	int r = 0;

	while (r >= 0 && (r = entries_next(&e)) > 0)
		r = add_key(ret, &((const struct file_key *)e.key)->place);
	sort_ids(ret);
	return r;
}

static int find_unused_places(struct meter *m, struct keys *ret)
{
	_cleanup_(entries_end) struct entries e = objects_entries(meter_objects(m), OBJECT_FILES,
								  "superblocks");
	_cleanup_(mounts_clear) struct mounts mounts = {};
	_cleanup_(keys_clear) struct keys used = { .size = sizeof(uint64_t) };
	int r = mounts_read(meter_opened_with(m)->root_fd, "self", &mounts, NULL);

	if (r >= 0)
		r = find_used_places(m, &used);
	while (r >= 0 && (r = entries_next(&e)) > 0) {
		const struct superblock *sb = e.value;
		const struct unused_place unused = { *(const uint64_t *)e.key, sb->cgroup };

		if (!ids_contain((const uint64_t *)used.items, used.count, unused.place) &&
		    !is_mounted(&mounts, sb->device))
			r = add_key(ret, &unused);
	}
	return r;
}

int cgroups_forget_places(struct meter *m)
{
	_cleanup_(keys_clear) struct keys unused = { .size = sizeof(struct unused_place) };
	int fd = map_fd(m, OBJECT_FILES, "superblocks"), r;

	if (fd < 0)
		return 0;
	r = find_unused_places(m, &unused);
	for (size_t i = 0; i < unused.count && r >= 0; i++) {
		const struct unused_place *place = key_at(&unused, i);

		if (bpf_map_delete_elem(fd, &place->place) == 0 && place->cgroup)
			(void)cgroups_give_back(m, place->cgroup, SHARE_SUPERBLOCKS, 1);
	}
	return r;
}
