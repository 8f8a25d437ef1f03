/* SPDX-License-Identifier: MIT */
/* How full the node's file systems are: of those with a device or memory of their own; each once,
 * by the mount point that names it. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "cgroup/mounts.h"
#include "model/file_system.h"
#include "sources/node.h"
#include "sources/source.h"

static int add(struct samples *to, enum metric_id id, const struct mount *mount, uint64_t number,
	       uint64_t scale)
{
	const char *labels[SAMPLE_LABELS_MAX] = { mount->point, mount->fstype };

	return __builtin_mul_overflow(number, scale, &number) ? 0
							      : samples_add(to, id, labels, number);
}

/* A captured tree has the mounts of another machine; what is there is none of them.  Some file
 * systems show each of their volumes as a device of its own. */
static bool is_that_mount(int fd, const struct mount *mount)
{
	struct stat st;

	return file_system_of(mount->fstype)->has_many_devices ||
	       (fstat(fd, &st) == 0 &&
		(major(st.st_dev) << 20 | minor(st.st_dev)) == mount->device);
}

static int add_mount(int root_fd, const struct mount *mount, struct samples *to)
{
	_cleanup_close_ int fd = -EBADF;
	const char *path = mount->point + strspn(mount->point, "/");
	struct statvfs st;
	int r;

	/* a path only: opening asks nothing of the file system, and walks into no automount */
	fd = openat(root_fd, *path ? path : ".", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || !is_that_mount(fd, mount) || fstatvfs(fd, &st) < 0 || st.f_blocks == 0)
		return 0;
	r = add(to, METRIC_NODE_FILESYSTEM_SIZE, mount, st.f_blocks, st.f_frsize);
	if (r == 0)
		r = add(to, METRIC_NODE_FILESYSTEM_FREE, mount, st.f_bfree, st.f_frsize);
	if (r == 0)
		r = add(to, METRIC_NODE_FILESYSTEM_AVAILABLE, mount, st.f_bavail, st.f_frsize);
	if (r == 0 && st.f_files)
		r = add(to, METRIC_NODE_FILESYSTEM_INODES, mount, st.f_files, 1);
	if (r == 0 && st.f_files)
		r = add(to, METRIC_NODE_FILESYSTEM_FREE_INODES, mount, st.f_ffree, 1);
	return r;
}

static bool is_below(const char *path, const char *dir)
{
	size_t length = strlen(dir);

	return strncmp(path, dir, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool may_ask(const struct source_options *options, const char *fstype)
{
	return options->may_ask ? options->may_ask(options->context, fstype)
				: !file_system_of(fstype)->may_hang;
}

/* Its path leads through one that may hang, and that nobody wants to be asked. */
static bool hangs_on_remote(const struct mounts *mounts, const struct mount *mount,
			    const struct source_options *options)
{
	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *other = &mounts->items[i];

		if (file_system_of(other->fstype)->may_hang && !may_ask(options, other->fstype) &&
		    (strcmp(other->point, "/") == 0 || is_below(mount->point, other->point)))
			return true;
	}
	return false;
}

static bool is_wanted(const struct mounts *mounts, const struct mount *mount,
		      const struct source_options *options)
{
	return mount->point[0] == '/' && may_ask(options, mount->fstype) &&
	       !hangs_on_remote(mounts, mount, options);
}

/* ---- the source ---- */

struct source_state {
	struct source_options options;
};

static int sample(struct source_state *s, uint64_t boot_ns, struct samples *to)
{
	_cleanup_(mounts_clear) struct mounts mounts = {};
	const struct source_options *options = &s->options;
	size_t count = 0;
	int r = mounts_read(options->root_fd, "self", &mounts, NULL);

	(void)boot_ns;
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; r == 0 && i < mounts.count && count < NODE_MOUNTS_MAX; i++) {
		const struct mount *mount = &mounts.items[i];

		if (file_system_of(mount->fstype)->lacks_space)
			continue;
		count++;
		if (!is_wanted(&mounts, mount, options))
			continue;
		if (mounts_find(&mounts, mount->device) == mount) /* a superblock once, and never a
								     hidden one */
			r = add_mount(options->root_fd, mount, to);
	}
	return r;
}

static int open_source(const struct source_options *options, struct source_state **ret,
		       struct error *err)
{
	struct source_state *s = calloc(1, sizeof(*s));

	(void)err;
	if (!s)
		return -ENOMEM;
	s->options = *options;
	*ret = s;
	return 0;
}

const struct source source_node_mounts = {
	.name = "node_mounts",
	.label = "free space of the node's file systems: ",
	.help = "Sample size and free space of the node's file systems, of the types in filesystems.",
	.open = open_source,
	.sample = sample,
	.free = source_free,
};
