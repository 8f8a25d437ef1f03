/* SPDX-License-Identifier: MIT */
#include "counters/naming.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "basic/text.h"
#include "load/pseudo_fs.h"

/* What a place was found to be. */
struct named {
	uint64_t place;
	struct snapshot_mount mount;
	const char *root; /* of the mount that names it; NULL: there is none */
};

/* Where memfd and System V shared memory live: a tmpfs that is mounted nowhere. */
static uint32_t find_shared_memory_device(void)
{
	_cleanup_close_ int fd = memfd_create("jobmeter", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return UINT32_MAX;
	return major(st.st_dev) << 20 | minor(st.st_dev);
}

uint32_t naming_namespace(int root_fd, const char *process)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "proc/%s/ns/mnt", process);
	return fstatat(root_fd, path, &st, 0) < 0 ? 0 : (uint32_t)st.st_ino;
}

void naming_format_path(const struct superblock *sb, char *ret)
{
	size_t count = MIN((size_t)sb->name_count, (size_t)PATH_NAMES);

	*ret = '\0';
	if (!sb->has_path || !sb->is_mounted)
		return;
	if (sb->is_cut)
		ret = stpcpy(ret, "...");
	else if (!count)
		stpcpy(ret, "/");
	while (count-- > 0) {
		size_t length = strnlen(sb->names[count], PATH_NAME);

		*ret++ = '/';
		memcpy(ret, sb->names[count], length);
		ret += length;
		*ret = '\0';
	}
}

static bool is_same(const struct mount *a, const struct mount *b)
{
	return a && b && strcmp(a->root, b->root) == 0 && strcmp(a->point, b->point) == 0 &&
	       strcmp(a->fstype, b->fstype) == 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return end_length <= length && strcmp(text + length - end_length, end) == 0;
}

/* Is a superblock of @device mounted at @path?  Where we or the job are in a chroot, one of the
 * paths lacks that one's own. */
static bool has_mount_at(const struct mounts *m, uint32_t device, const char *path,
			 bool is_own_namespace)
{
	for (size_t i = 0; i < m->count; i++) {
		const char *point = m->items[i].point;

		if (m->items[i].device != device)
			continue;
		if (strcmp(point, path) == 0)
			return true;
		if (is_own_namespace && (ends_with(point, path) || ends_with(path, point)))
			return true;
	}
	return false;
}

const struct mount *naming_find_mount(const struct naming *n, uint32_t device, const char *path,
				      bool is_own_namespace)
{
	const struct mount *first = mounts_find(n->before, device),
			   *last = mounts_find(n->now, device);

	/* It was there all the time, so its number was not reused. */
	if (is_same(first, last) && (is_own_namespace || !*path))
		return last;
	if (!*path)
		return last ? last : first;
	if (has_mount_at(n->now, device, path, is_own_namespace))
		return last;
	return has_mount_at(n->before, device, path, is_own_namespace) ? first : NULL;
}

static enum row_kind kind_of(const struct superblock *sb)
{
	if (strcmp(sb->fstype, "pipefs") == 0)
		return ROW_PIPE;
	if (strcmp(sb->fstype, "sockfs") == 0)
		return ROW_SOCKET;
	return pseudo_fs_is(sb->fstype) ? ROW_PSEUDO : ROW_MOUNT;
}

static int copy(const char *text, char **ret)
{
	*ret = text && *text ? strdup(text) : NULL;
	return text && *text && !*ret ? -ENOMEM : 0;
}

static int copy_aliases(const struct naming *n, const struct mount *main,
			struct snapshot_mount *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < n->now->count && count < MOUNT_ALIASES_MAX; i++) {
		const struct mount *m = &n->now->items[i];

		if (m->device != main->device || text_is_equal(m->point, ret->name))
			continue;
		ret->aliases[count] = strdup(m->point);
		if (!ret->aliases[count++])
			return -ENOMEM;
	}
	return 0;
}

static int name_superblock(const struct naming *n, const struct superblock *sb, struct named *ret)
{
	struct snapshot_mount *to = &ret->mount;
	const struct mount *mount;
	char path[NAMING_PATH_SIZE];
	int r;

	to->kind = kind_of(sb);
	if (to->kind != ROW_MOUNT)
		return 0;
	naming_format_path(sb, path);
	mount = naming_find_mount(n, sb->device, path, sb->mnt_ns == n->mnt_ns);
	if (!mount && !*path) {
		to->kind = sb->device == find_shared_memory_device() ? ROW_PSEUDO : ROW_UNRESOLVED;
		return 0;
	}
	ret->root = mount ? mount->root : NULL;
	r = copy(mount ? mount->point : path, &to->name);
	if (r == 0)
		r = copy(mount && *mount->fstype ? mount->fstype : sb->fstype, &to->fstype);
	if (r == 0 && mount)
		r = copy(mount->source, &to->source);
	return r < 0 || !mount ? r : copy_aliases(n, mount, to);
}

static int name_place(const struct naming *n, uint64_t place, struct named *ret)
{
	struct superblock sb;
	int r = 0;

	*ret = (struct named){ .place = place, .mount.kind = ROW_UNRESOLVED };
	if (place == PLACE_EXEC)
		ret->mount.kind = ROW_EXEC;
	else if (place == PLACE_KERNEL)
		ret->mount.kind = ROW_KERNEL;
	else if (place == PLACE_OTHER)
		ret->mount.kind = ROW_OTHER;
	else if (place != PLACE_UNRESOLVED &&
		 bpf_map_lookup_elem(n->superblocks_fd, &place, &sb) == 0)
		r = name_superblock(n, &sb, ret);
	if (r == 0 && ret->mount.kind != ROW_MOUNT)
		r = copy(row_kind_name(ret->mount.kind), &ret->mount.name);
	if (r < 0)
		snapshot_mount_clear(&ret->mount);
	return r;
}

static const struct named *find_named(struct naming *n, uint64_t place)
{
	struct named *larger;

	for (size_t i = 0; i < n->known_count; i++) {
		if (n->known[i].place == place)
			return &n->known[i];
	}
	larger = reallocarray(n->known, n->known_count + 1, sizeof(*larger));
	if (!larger)
		return NULL;
	n->known = larger;
	if (name_place(n, place, &n->known[n->known_count]) < 0)
		return NULL;
	return &n->known[n->known_count++];
}

const struct snapshot_mount *naming_get(struct naming *n, uint64_t place)
{
	const struct named *named = find_named(n, place);

	return named ? &named->mount : NULL;
}

const char *naming_get_root(struct naming *n, uint64_t place)
{
	const struct named *named = find_named(n, place);

	return named && named->root ? named->root : "/";
}

void naming_clear(struct naming *n)
{
	for (size_t i = 0; i < n->known_count; i++)
		snapshot_mount_clear(&n->known[i].mount);
	free(n->known);
	n->known = NULL;
	n->known_count = 0;
}
