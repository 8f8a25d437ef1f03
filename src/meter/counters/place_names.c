/* SPDX-License-Identifier: MIT */
#include "counters/place_names.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "counters/naming.h"

struct known_place {
	uint64_t place;
	bool is_used; /* since the last refresh */
	struct snapshot_mount *mount; /* stays where it is as others come */
};

struct place_names {
	int root_fd, watch_fd; /* watch_fd: a mountinfo; poll(2) reports its changes */
	const char *whose; /* the process with these mounts */
	const struct site_mount *sites;
	size_t site_count;
	struct mounts before, now;
	struct naming naming;
	struct known_place *known; /* sorted by place */
	size_t count, room;
};

static int look_at_mounts(struct place_names *p, struct error *err)
{
	struct mounts now = {};
	int r = mounts_read(p->root_fd, p->whose, &now, err);

	if (r < 0)
		return r;
	mounts_clear(&p->before);
	p->before = p->now;
	p->now = now;
	return 0;
}

/* Process 1's, as jobs have them: a service may have been given mounts of its own, some of them
 * hidden or twice there. Ours where that cannot be seen. */
static const char *find_host(int root_fd)
{
	return naming_namespace(root_fd, "1") &&
			       faccessat(root_fd, "proc/1/mountinfo", R_OK, 0) == 0
		       ? "1"
		       : "self";
}

int place_names_open(int root_fd, const char *whose, const struct site_mount *sites,
		     size_t site_count, struct place_names **ret, struct error *err)
{
	struct place_names *p = calloc(1, sizeof(*p));
	char path[64];
	int r;

	if (!p)
		return -ENOMEM;
	p->root_fd = root_fd;
	p->whose = whose ? whose : find_host(root_fd);
	p->sites = sites;
	p->site_count = site_count;
	p->naming = (struct naming){ .before = &p->before,
				     .now = &p->now,
				     .superblocks_fd = -EBADF,
				     .mnt_ns = naming_namespace(root_fd, p->whose) };
	snprintf(path, sizeof(path), "proc/%s/mountinfo", p->whose);
	p->watch_fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC);
	r = look_at_mounts(p, err);
	if (r == 0)
		r = look_at_mounts(p, err); /* nothing was mounted before that is not now */
	if (r < 0) {
		place_names_close(p);
		return r;
	}
	*ret = p;
	return 0;
}

static void forget(struct known_place *known)
{
	snapshot_mount_clear(known->mount);
	free(known->mount);
}

struct place_names *place_names_close(struct place_names *p)
{
	if (!p)
		return NULL;
	for (size_t i = 0; i < p->count; i++)
		forget(&p->known[i]);
	free(p->known);
	naming_clear(&p->naming);
	mounts_clear(&p->before);
	mounts_clear(&p->now);
	if (p->watch_fd >= 0)
		close(p->watch_fd);
	free(p);
	return NULL;
}

static void forget_unused(struct place_names *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->count; i++) {
		if (!p->known[i].is_used) {
			forget(&p->known[i]);
			continue;
		}
		p->known[kept] = p->known[i];
		p->known[kept++].is_used = false;
	}
	p->count = kept;
}

int place_names_refresh(struct place_names *p, int superblocks_fd, bool forgets, struct error *err)
{
	struct pollfd changed = { .fd = p->watch_fd, .events = POLLPRI };

	if (forgets)
		forget_unused(p);
	naming_clear(&p->naming);
	p->naming.superblocks_fd = superblocks_fd;
	return p->watch_fd < 0 || poll(&changed, 1, 0) != 0 ? look_at_mounts(p, err) : 0;
}

/* The index of @place, or where it belongs. */
static size_t search(const struct place_names *p, uint64_t place)
{
	size_t low = 0, high = p->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->known[middle].place < place)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The site's own name takes the mount point's place, which becomes an alias. */
static int give_site_name(const struct place_names *p, struct snapshot_mount *mount)
{
	for (size_t i = 0; i < p->site_count; i++) {
		char *name;

		if (mount->kind != ROW_MOUNT || strcmp(p->sites[i].path, mount->name) != 0)
			continue;
		name = strdup(p->sites[i].name);
		if (!name)
			return -ENOMEM;
		free(mount->aliases[MOUNT_ALIASES_MAX - 1]);
		memmove(&mount->aliases[1], &mount->aliases[0],
			(MOUNT_ALIASES_MAX - 1) * sizeof(*mount->aliases));
		mount->aliases[0] = mount->name;
		mount->name = name;
		return 0;
	}
	return 0;
}

static struct snapshot_mount *name(struct place_names *p, uint64_t place)
{
	const struct snapshot_mount *now = naming_get(&p->naming, place);
	struct snapshot_mount *mount = calloc(1, sizeof(*mount));

	if (now && mount && snapshot_mount_copy(mount, now) == 0) {
		if (give_site_name(p, mount) == 0)
			return mount;
		snapshot_mount_clear(mount);
	}
	free(mount);
	return NULL;
}

struct naming *place_names_naming(struct place_names *p)
{
	return &p->naming;
}

const struct snapshot_mount *place_names_get(struct place_names *p, uint64_t place)
{
	size_t at = search(p, place);
	struct snapshot_mount *mount;

	if (at < p->count && p->known[at].place == place) {
		p->known[at].is_used = true;
		return p->known[at].mount;
	}
	mount = array_reserve(&p->known, &p->room, p->count, sizeof(*p->known)) < 0
			? NULL
			: name(p, place);
	if (!mount)
		return NULL;
	memmove(&p->known[at + 1], &p->known[at], (p->count - at) * sizeof(*p->known));
	p->known[at] = (struct known_place){ .place = place, .is_used = true, .mount = mount };
	p->count++;
	return mount;
}
