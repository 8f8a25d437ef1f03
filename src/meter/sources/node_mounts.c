/* SPDX-License-Identifier: MIT */
/*
 * Size and free space of the node's file systems with a device or memory of their own, each once,
 * by its naming mount point.
 *
 * One that may hang (network, FUSE) is read on a thread of its own: a sample has the previous
 * answer. While it does not answer it is reported, and not asked again.
 */
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
#include "basic/macro.h"
#include "basic/text.h"
#include "cgroup/mounts.h"
#include "model/file_system.h"
#include "model/record.h"
#include "sources/slow_source.h"
#include "sources/source.h"

#define LABEL "free space of the node's file systems: "
#define DEADLINE_MS 2000
#define APART_MAX 24 /* threads */

/* A captured tree has the mounts of another machine, and its files are on none of them. Some
 * file systems show each of their volumes as a device. */
static bool is_that_mount(int fd, const struct mount *mount)
{
	struct stat st;

	return file_system_of(mount->fstype)->has_many_devices ||
	       (fstat(fd, &st) == 0 &&
		(major(st.st_dev) << 20 | minor(st.st_dev)) == mount->device);
}

static int add_mount(int root_fd, const struct mount *mount, struct samples *to)
{
	const char *path = mount->point + strspn(mount->point, "/");
	const char *labels[SAMPLE_LABELS_MAX] = { mount->point, mount->fstype };
	_cleanup_close_ int fd = -EBADF;
	struct statvfs st;
	int r = 0;

	/* a path only: opening asks nothing of the file system, and walks into no automount */
	fd = openat(root_fd, *path ? path : ".", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || !is_that_mount(fd, mount) || fstatvfs(fd, &st) < 0 || st.f_blocks == 0)
		return 0;
	const struct {
		enum metric_id id;
		uint64_t number, scale;
	} numbers[] = {
		{ METRIC_NODE_FILESYSTEM_SIZE, st.f_blocks, st.f_frsize },
		{ METRIC_NODE_FILESYSTEM_FREE, st.f_bfree, st.f_frsize },
		{ METRIC_NODE_FILESYSTEM_AVAILABLE, st.f_bavail, st.f_frsize },
		{ METRIC_NODE_FILESYSTEM_INODES, st.f_files, 1 },
		{ METRIC_NODE_FILESYSTEM_FREE_INODES, st.f_ffree, 1 },
	};

	for (size_t i = 0; r == 0 && i < (st.f_files ? 5 : 3); i++) {
		uint64_t number;

		if (!__builtin_mul_overflow(numbers[i].number, numbers[i].scale, &number))
			r = samples_add(to, numbers[i].id, labels, number);
	}
	return r;
}

static bool may_ask(const struct source_options *options, const char *fstype)
{
	return options->may_ask ? options->may_ask(options->context, fstype)
				: !file_system_of(fstype)->may_hang;
}

/* Its path may lead through others: *ret_may_hang: it or one of them may. */
static bool is_wanted(const struct mounts *mounts, const struct mount *mount,
		      const struct source_options *options, bool *ret_may_hang)
{
	bool is_wanted = mount->point[0] == '/' && may_ask(options, mount->fstype);

	*ret_may_hang = false;
	for (size_t i = 0; i < mounts->count && is_wanted; i++) {
		const struct mount *other = &mounts->items[i];

		if (!file_system_of(other->fstype)->may_hang ||
		    (strcmp(other->point, "/") != 0 && !text_is_below(mount->point, other->point)))
			continue;
		*ret_may_hang = true;
		is_wanted = may_ask(options, other->fstype);
	}
	/* a superblock once, and never a hidden one */
	return is_wanted && mounts_find(mounts, mount->device) == mount;
}

/* ---- one that is asked apart ---- */

struct apart {
	struct slow_source *slow;
	bool is_wanted, is_late;
};

struct source_state {
	struct source_options options;
	struct mount mount; /* of one */
	struct apart apart[APART_MAX]; /* of the source */
	size_t count, left_out; /* of them */
};

static void close_one(struct source_state *s)
{
	free(s->mount.point);
	free(s->mount.fstype);
}

static int open_one(const struct source_options *options, struct source_state *s,
		    struct error *err UNUSED)
{
	const struct mount *mount = options->context;

	s->options.root_fd = options->root_fd;
	s->mount = (struct mount){ .device = mount->device,
				   .point = strdup(mount->point),
				   .fstype = strdup(mount->fstype) };
	return s->mount.point && s->mount.fstype ? 0 : -ENOMEM;
}

static int sample_one(struct source_state *s, uint64_t boot_ns UNUSED, struct samples *to)
{
	return add_mount(s->options.root_fd, &s->mount, to);
}

static const struct source source_one_mount = {
	.name = "node_mounts",
	.deadline_ms = DEADLINE_MS,
	.size = sizeof(struct source_state),
	.open = open_one,
	.sample = sample_one,
	.close = close_one,
};

static struct apart *find_apart(struct source_state *s, const struct mount *mount)
{
	const struct source_options options = { .root_fd = s->options.root_fd, .context = mount };
	struct apart *one;

	for (one = s->apart; one < s->apart + s->count; one++) {
		const struct mount *its = &slow_source_state(one->slow)->mount;

		if (its->device == mount->device && strcmp(its->point, mount->point) == 0)
			return one;
	}
	if (s->count == APART_MAX ||
	    slow_source_open(&source_one_mount, &options, &one->slow, NULL) < 0)
		return NULL;
	s->count++;
	return one;
}

static int sample_apart(struct source_state *s, const struct mount *mount, struct samples *to)
{
	struct apart *one = find_apart(s, mount);
	struct samples samples = {};
	int r;

	if (!one) {
		s->left_out++;
		return 0;
	}
	one->is_wanted = true;
	r = slow_source_take(one->slow, &samples);
	one->is_late = r == -ETIME;
	if (r == 0)
		r = samples_add_all(to, &samples);
	samples_clear(&samples);
	if (slow_source_ask(one->slow) < 0)
		s->left_out++;
	return r == -ENOMEM || r == -ENOSPC ? r : 0;
}

/* Those that are no longer mounted; one with a hanging thread keeps its place, which bounds
 * their number. */
static void drop_unwanted(struct source_state *s)
{
	for (size_t i = s->count; i-- > 0;) {
		struct apart *one = &s->apart[i];
		struct samples samples = {};
		int r = one->is_wanted ? -EBUSY : slow_source_take(one->slow, &samples);

		samples_clear(&samples);
		one->is_wanted = false;
		if (r == -EBUSY || r == -ETIME)
			continue;
		slow_source_free(one->slow);
		*one = s->apart[--s->count];
		s->apart[s->count] = (struct apart){};
	}
}

/* ---- the source ---- */

static int sample(struct source_state *s, uint64_t boot_ns UNUSED, struct samples *to)
{
	_cleanup_(mounts_clear) struct mounts mounts = {};
	const struct source_options *options = &s->options;
	size_t count = 0;
	bool may_hang;
	int r = mounts_read(options->root_fd, "self", &mounts, NULL);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	s->left_out = 0;
	for (size_t i = 0; r == 0 && i < mounts.count && count < NODE_MOUNTS_MAX; i++) {
		const struct mount *mount = &mounts.items[i];

		if (file_system_of(mount->fstype)->lacks_space)
			continue;
		count++;
		if (!is_wanted(&mounts, mount, options, &may_hang))
			continue;
		r = may_hang ? sample_apart(s, mount, to) : add_mount(options->root_fd, mount, to);
	}
	drop_unwanted(s);
	return r;
}

static int describe(const struct source_state *s, struct strings *missing)
{
	int r = 0;

	for (size_t i = 0; i < s->count && r == 0; i++) {
		if (s->apart[i].is_late)
			r = strings_add(missing, LABEL "%s does not answer",
					slow_source_state(s->apart[i].slow)->mount.point);
	}
	if (s->left_out && r == 0)
		r = strings_add(missing,
				LABEL "%zu of networks and FUSE are not asked (at most %d are)",
				s->left_out, APART_MAX);
	return r;
}

static void close_source(struct source_state *s)
{
	for (size_t i = 0; i < s->count; i++)
		slow_source_free(s->apart[i].slow);
}

static int open_source(const struct source_options *options, struct source_state *s,
		       struct error *err UNUSED)
{
	s->options = *options;
	return 0;
}

const struct source source_node_mounts = {
	.name = "node_mounts",
	.label = LABEL,
	.help = "Sample size and free space of the node's file systems, of the types in filesystems.",
	.size = sizeof(struct source_state),
	.open = open_source,
	.sample = sample,
	.describe = describe,
	.close = close_source,
};
