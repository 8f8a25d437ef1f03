/* SPDX-License-Identifier: MIT */
#include "load/pins.h"

#include <errno.h>
#include <fcntl.h>
#include <bpf/libbpf.h>
#include <linux/magic.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/dir.h"
#include "basic/macro.h"
#include "basic/fnv.h"
#include "load/loading.h"
#include "load/skeletons.h"

#define ENTRIES_MAX 1024
#define USUAL_PLACE "/sys/fs/bpf"

static const char *const dirs[] = { PINS_MAPS, PINS_PROGRAMS, PINS_LINKS };

/* ---- the layout ---- */

#define PINS_FORMAT 2 /* format of the map of hooks: see pinned.c */

void layout_begin(struct layout *ret)
{
	ret->hash = FNV_BEGIN;
}

void layout_add(struct layout *l, const void *bytes, size_t size)
{
	const uint64_t length = size;

	l->hash = fnv_bytes(fnv_bytes(l->hash, &length, sizeof(length)), bytes, size);
}

void layout_add_text(struct layout *l, const char *text)
{
	layout_add(l, text, strlen(text));
}

void layout_add_number(struct layout *l, uint64_t number)
{
	layout_add(l, &number, sizeof(number));
}

void layout_format(const struct layout *l, char *ret)
{
	snprintf(ret, LAYOUT_NAME_SIZE, "%016" PRIx64, l->hash);
}

int layout_check_name(const char *name)
{
	return strlen(name) == LAYOUT_NAME_SIZE - 1 &&
			       strspn(name, "0123456789abcdef") == LAYOUT_NAME_SIZE - 1
		       ? 0
		       : -EINVAL;
}

static void add_code(struct layout *l, enum object_id id, const struct any_bpf *bpf)
{
	const void *older;
	size_t size;

	layout_add(l, bpf->skeleton->data, bpf->skeleton->data_sz);
	older = skeleton_older_code(id, &size);
	layout_add(l, older, size);
}

/* With what data and settings begin with. */
static void add_map(struct layout *l, const struct map_list *list, size_t i)
{
	const struct map_form *form = &list->forms[i];
	const void *value;
	size_t size;

	layout_add_number(l, list->objects[i]);
	layout_add_text(l, form->name);
	layout_add_number(l, form->type);
	layout_add_number(l, form->flags);
	layout_add_number(l, form->key_bytes);
	layout_add_number(l, form->value_bytes);
	layout_add_number(l, form->entries);
	value = bpf_map__is_internal(list->maps[i]) ? bpf_map__initial_value(list->maps[i], &size)
						    : NULL;
	if (value)
		layout_add(l, value, size);
}

void layout_of(const struct loading *loading, struct layout *ret)
{
	layout_begin(ret);
	layout_add_number(ret, PINS_FORMAT);
	for (size_t id = 0; id < OBJECT_COUNT; id++) {
		layout_add_number(ret, loading->items[id] != NULL);
		if (loading->items[id])
			add_code(ret, (enum object_id)id, loading->items[id]);
	}
	for (size_t i = 0; i < loading->maps.count; i++)
		add_map(ret, &loading->maps, i);
	for (size_t i = 0; i < loading->hooks->count; i++) {
		const struct hook *hook = &loading->hooks->items[i];

		layout_add_text(ret, hook->program);
		layout_add_text(ret, hook->attach);
		layout_add_number(ret, *hook->why != '\0');
	}
}

/* ---- the root ---- */

/* Mount it where there is none, as systemd does. */
static int make_bpf_fs(const char *path, struct error *err)
{
	struct statfs fs;

	if (statfs(path, &fs) == 0 && (unsigned long)fs.f_type == BPF_FS_MAGIC)
		return 0;
	if (strcmp(path, USUAL_PLACE) != 0)
		return error_set(err, -EINVAL, "'%s' is in no BPF file system (see bpf(2))", path);
	if (mount("bpf", path, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=700") < 0)
		return error_set_errno(err, errno, "cannot mount a BPF file system at '%s'", path);
	return 0;
}

static int check_parent(const char *pin_dir, struct error *err)
{
	const char *slash = strrchr(pin_dir, '/');
	char parent[PINS_PATH_SIZE];

	if (*pin_dir != '/' || slash == pin_dir || !slash[1] ||
	    strlen(pin_dir) + LAYOUT_NAME_SIZE + 80 > PINS_PATH_SIZE)
		return error_set(err, -EINVAL, "'%.200s' is no path of a directory for pins",
				 pin_dir);
	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - pin_dir), pin_dir);
	return make_bpf_fs(parent, err);
}

int pins_make_root(const char *pin_dir, struct error *err)
{
	struct stat st;
	int r = check_parent(pin_dir, err);

	if (r < 0)
		return r;
	if (mkdir(pin_dir, 0700) < 0 && errno != EEXIST)
		return error_set_errno(err, errno, "cannot make the directory '%s'", pin_dir);
	/* In some of these file systems anyone may make a directory, and a link. */
	if (lstat(pin_dir, &st) < 0)
		return error_set_errno(err, errno, "cannot read '%s'", pin_dir);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
		return error_set(err, -EPERM,
				 "'%s' is not a directory that only the agent may write to",
				 pin_dir);
	return 0;
}

void pins_remove_root(const char *pin_dir)
{
	(void)rmdir(pin_dir);
}

int pins_list_sets(const char *pin_dir, struct dir *ret)
{
	size_t kept = 0;
	int r = dir_read(AT_FDCWD, pin_dir, ENTRIES_MAX, ret);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ret->count; i++) {
		if (layout_check_name(ret->names[i]) == 0)
			ret->names[kept++] = ret->names[i];
		else
			free(ret->names[i]); /* not ours */
	}
	ret->count = kept;
	return 0;
}

/* ---- a set ---- */

void pins_find(const char *pin_dir, const char *layout, struct pins *ret)
{
	snprintf(ret->path, sizeof(ret->path), "%s/%s", pin_dir, layout);
}

static int format_path(const struct pins *p, const char *dir, const char *name,
		       char path[static PINS_PATH_SIZE])
{
	int n = snprintf(path, PINS_PATH_SIZE, "%s%s%s%s%s", p->path, dir ? "/" : "",
			 dir ? dir : "", *name ? "/" : "", name);
	char *rest = path + strlen(p->path);

	if (n < 0 || n >= PINS_PATH_SIZE)
		return -ENAMETOOLONG;
	while ((rest = strchr(rest, '.')))
		*rest = '_';
	return 0;
}

int pins_make(const struct pins *p)
{
	char path[PINS_PATH_SIZE];

	if (mkdir(p->path, 0700) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		int r = format_path(p, dirs[i], "", path);

		if (r >= 0 && mkdir(path, 0700) < 0)
			r = -errno;
		if (r < 0)
			return r;
	}
	return 0;
}

int pins_put(const struct pins *p, const char *dir, const char *name, int fd)
{
	char path[PINS_PATH_SIZE];
	int r = format_path(p, dir, name, path);

	if (r < 0)
		return r;
	return bpf_obj_pin(fd, path) < 0 ? -errno : 0;
}

int pins_get(const struct pins *p, const char *dir, const char *name)
{
	char path[PINS_PATH_SIZE];
	int r = format_path(p, dir, name, path);

	if (r < 0)
		return r;
	r = bpf_obj_get(path);
	return r < 0 ? -errno : r;
}

int pins_drop(const struct pins *p, const char *dir, const char *name)
{
	char path[PINS_PATH_SIZE];
	int r = format_path(p, dir, name, path);

	if (r < 0)
		return r;
	return unlink(path) < 0 ? -errno : 0;
}

/* With its contents.  @dir NULL: the set's own directory, once the others are removed. */
static int remove_dir(const struct pins *p, const char *dir)
{
	_cleanup_(dir_clear) struct dir pinned = {};
	char path[PINS_PATH_SIZE];
	int r = format_path(p, dir, "", path);

	if (r >= 0)
		r = dir_read(AT_FDCWD, path, ENTRIES_MAX, &pinned);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	for (size_t i = 0; i < pinned.count; i++) {
		int dropped = pins_drop(p, dir, pinned.names[i]);

		r = r < 0 ? r : dropped;
	}
	return r >= 0 && rmdir(path) < 0 ? -errno : r;
}

int pins_remove(const struct pins *p)
{
	int r = pins_drop(p, NULL, PINS_HOOKS);

	if (r < 0 && r != -ENOENT)
		return r;
	for (size_t i = ARRAY_SIZE(dirs); i-- > 0;) { /* links first */
		r = remove_dir(p, dirs[i]);
		if (r < 0)
			return r;
	}
	return remove_dir(p, NULL);
}

static int give(const char *path, uid_t uid, gid_t gid)
{
	return lchown(path, uid, gid) < 0 ? -errno : 0;
}

int pins_give(const char *pin_dir, uid_t uid, gid_t gid)
{
	static const char *const parts[] = { "", "/" PINS_MAPS, "/" PINS_PROGRAMS, "/" PINS_LINKS };
	_cleanup_(dir_clear) struct dir sets = {};
	int r = pins_list_sets(pin_dir, &sets);

	if (r == -ENOENT)
		return 0;
	for (size_t i = 0; r >= 0 && i < sets.count; i++) {
		struct pins set;

		pins_find(pin_dir, sets.names[i], &set);
		for (size_t f = 0; r >= 0 && f < ARRAY_SIZE(parts); f++) {
			char path[PINS_PATH_SIZE + 16];

			snprintf(path, sizeof(path), "%s%s", set.path, parts[f]);
			r = give(path, uid, gid);
			r = r == -ENOENT ? 0 : r; /* half a set */
		}
	}
	return r < 0 ? r : give(pin_dir, uid, gid);
}
