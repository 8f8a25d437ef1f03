/* SPDX-License-Identifier: MIT */
#include "cgroup/group.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "cgroup/descendants.h"
#include "basic/dir.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "basic/parse.h"

#define V2 CONTROLLER_COUNT /* the place of v2's directory among the controllers' */
#define MAKE_TRIES 8
#define LOCK_TRIES 200 /* of 1 ms: a sweeper may be held up by other load */
#define DEPTH_MAX 16 /* groups below ours that are searched */
#define ALONE_MAX 8 /* processes of a client: itself, its command, and few others */
#define PIDS_MAX 10000000U /* more than Linux allows */
#define NUMBERS_TRIED 200
#define ASIDE "-self" /* ends the name of the group beside ours */

/* The lock on @fd shows that its maker lives, also in another PID namespace. */
struct place {
	int parent_fd, fd; /* -EBADF: none; several controllers may share one, then only one has it
			    */
};

struct group {
	const struct hierarchy *hierarchy;
	char *name;
	unsigned int number; /* at its end, if group_make() chose it */
	pid_t client; /* the requester: with its children it may be all that is in the parent */
	struct place places[CONTROLLER_COUNT + 1];
	char *switched_on; /* controllers that we handed down on v2, as "-cpu -memory" */
	bool is_of_others; /* to be read, and left as it is */
	struct place aside; /* v2: where we went ourselves, so that the caller's group could hand
			       down */
};

/* Not cpu: its groups share a CPU as one against their neighbours, which changes the speed of
 * the command; and a group without a quota has no number there. */
static const char *const v2_controllers[] = { "memory", "pids", "io" };

static struct group *group_new(const struct hierarchy *h, const char *name, pid_t client)
{
	struct group *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->hierarchy = h;
	g->client = client;
	g->name = strdup(name);
	for (size_t i = 0; i < ARRAY_SIZE(g->places); i++)
		g->places[i] = (struct place){ -EBADF, -EBADF };
	g->aside = (struct place){ -EBADF, -EBADF };
	if (!g->name) {
		free(g);
		return NULL;
	}
	return g;
}

/* The client itself, or a child of its that is no other user's. */
static bool is_clients(int root_fd, pid_t client, int pid)
{
	char own[32], path[32], stat_path[40], text[1024], state;
	struct stat clients, its;
	pid_t parent;

	snprintf(own, sizeof(own), "proc/%d", client);
	snprintf(path, sizeof(path), "proc/%d", pid);
	snprintf(stat_path, sizeof(stat_path), "%s/stat", path);
	if (pid == client)
		return true;
	return file_read_small(root_fd, stat_path, text, sizeof(text)) > 0 &&
	       descendants_parse_stat(text, &state, &parent) == 0 && parent == client &&
	       fstatat(root_fd, own, &clients, 0) == 0 && fstatat(root_fd, path, &its, 0) == 0 &&
	       its.st_uid == clients.st_uid;
}

/* In the group are processes of the client, and no others.  Returns how many; 0: it is not so. */
static size_t list_alone(const struct group *g, int root_fd, pid_t ret[static ALONE_MAX])
{
	char pids[ALONE_MAX * 8 + 1], *rest = pids, *line; /* a line has 8 characters at most */
	size_t count = 0;
	int pid;

	if (file_read_small(g->places[V2].parent_fd, "cgroup.procs", pids, sizeof(pids)) < 0)
		return 0;
	while ((line = parse_next_line(&rest))) {
		if (count == ALONE_MAX || parse_int(line, 1, INT32_MAX, &pid) < 0 ||
		    !is_clients(root_fd, g->client, pid))
			return 0;
		ret[count++] = pid;
	}
	return count;
}

/* A sweeper holds it briefly; another user may hold it for ever. */
static bool lock_place(int fd)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int tries = 0; tries < LOCK_TRIES; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* Make a directory and lock it. Before the lock it may be swept away, and another one of
 * this name may be there.  Returns a descriptor. */
static int make_locked(int parent_fd, const char *name)
{
	for (int tries = 0; tries < MAKE_TRIES; tries++) {
		_cleanup_close_ int fd = -EBADF;
		struct stat opened, named;

		if (mkdirat(parent_fd, name, 0755) < 0)
			return -errno;
		fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0) {
			int r = -errno;

			unlinkat(parent_fd, name, AT_REMOVEDIR);
			return r;
		}
		if (!lock_place(fd))
			return -EEXIST;
		if (fstat(fd, &opened) == 0 && fstatat(parent_fd, name, &named, 0) == 0 &&
		    opened.st_ino == named.st_ino)
			return TAKE_FD(fd);
	}
	return -ENOENT;
}

static void name_aside(const struct group *g, char *text, size_t size)
{
	snprintf(text, size, "%.64s" ASIDE, g->name);
}

/* A group with processes hands no controller down (unless it is the root).  Where the client's are
 * the only ones, as in a scope or a task of its own, they can go into a group beside the command's
 * meanwhile. */
static void step_aside(struct group *g, int root_fd)
{
	int parent_fd = g->places[V2].parent_fd;
	pid_t pids[ALONE_MAX];
	size_t count = list_alone(g, root_fd, pids);
	char name[80], text[16];

	name_aside(g, name, sizeof(name));
	if (!count)
		return;
	g->aside.fd = make_locked(parent_fd, name);
	if (g->aside.fd < 0)
		return;
	g->aside.parent_fd = fcntl(parent_fd, F_DUPFD_CLOEXEC, 3);
	for (size_t i = 0; i < count && g->aside.fd >= 0; i++) {
		snprintf(text, sizeof(text), "%d", pids[i]);
		(void)file_write_existing(g->aside.fd, "cgroup.procs", text);
	}
}

/* May the caller's group hand controllers down?  Not while it has processes, unless it is the root:
 * some controllers would be refused, and others would turn the group into a root of threads, below
 * which no group of ours could live. */
static bool may_hand_down(struct group *g, int root_fd)
{
	int parent_fd = g->places[V2].parent_fd;
	char byte[2];
	int r;

	if (faccessat(parent_fd, "cgroup.type", F_OK, 0) < 0)
		return true; /* the root has no type */
	r = file_read_small(parent_fd, "cgroup.procs", byte, sizeof(byte));
	if (r == 0)
		return true;
	step_aside(g, root_fd);
	return g->aside.fd >= 0 &&
	       file_read_small(parent_fd, "cgroup.procs", byte, sizeof(byte)) == 0;
}

/* Hand down what the parent has and its children do not. A controller that cannot be handed down
 * costs a number, and is reported. */
static void switch_on_controllers(struct group *g, int root_fd)
{
	int parent_fd = g->places[V2].parent_fd;
	char has[512], given[512], wish[32], undo[128] = "";

	if (file_read_small(parent_fd, "cgroup.controllers", has, sizeof(has)) < 0 ||
	    file_read_small(parent_fd, "cgroup.subtree_control", given, sizeof(given)) < 0 ||
	    !may_hand_down(g, root_fd))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(v2_controllers); i++) {
		const char *name = v2_controllers[i];
		size_t used = strlen(undo);

		if (!parse_has_word(has, name) || parse_has_word(given, name))
			continue;
		snprintf(wish, sizeof(wish), "+%s", name);
		if (file_write_existing(parent_fd, "cgroup.subtree_control", wish) >= 0)
			snprintf(undo + used, sizeof(undo) - used, "%s-%s", used ? " " : "", name);
	}
	if (*undo)
		g->switched_on = strdup(undo);
}

/* NULL: there is none more, or it could not be opened. */
static struct dirent *next_dir(DIR *dir)
{
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			return entry;
	}
	return NULL;
}

/* "jobmeter-...-N", or the group beside it. */
static bool is_made_by_us(const char *name)
{
	const char *end = name + strlen(name);

	if (strncmp(name, "jobmeter-", strlen("jobmeter-")) != 0)
		return false;
	if (end - name > (ptrdiff_t)strlen(ASIDE) && strcmp(end - strlen(ASIDE), ASIDE) == 0)
		end -= strlen(ASIDE);
	return end[-1] >= '0' && end[-1] <= '9';
}

int group_remove_abandoned(int dir_fd, const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_close_ int fd = -EBADF;

	if (!is_made_by_us(slash ? slash + 1 : path))
		return -EINVAL;
	fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -EBUSY;
	return unlinkat(dir_fd, path, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/* Of those that were killed before they could remove it. */
static void sweep(int parent_fd)
{
	_cleanup_(dir_closep) DIR *dir = dir_open(parent_fd, ".");
	struct dirent *entry;

	while ((entry = next_dir(dir)))
		(void)group_remove_abandoned(parent_fd, entry->d_name);
}

static int make_place(int root_fd, const char *mount, const char *own, const char *name,
		      struct place *ret, struct error *err)
{
	_cleanup_close_ int parent_fd = -EBADF;
	char path[4096];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), ".%s%s", mount, own) >= sizeof(path))
		return error_set(err, -ENAMETOOLONG, "the path of cgroup '%s' is too long", own);
	parent_fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent_fd < 0)
		return error_set_errno(err, errno, "cannot open cgroup '%s%s'", mount, own);
	sweep(parent_fd);
	fd = make_locked(parent_fd, name);
	if (fd < 0)
		return error_set_errno(err, fd, "cannot make a cgroup in '%s%s'", mount, own);
	ret->parent_fd = TAKE_FD(parent_fd);
	ret->fd = fd;
	return 0;
}

static bool is_mounted_with(const struct hierarchy *h, enum controller a, enum controller b)
{
	return h->mount[a] && h->mount[b] && strcmp(h->mount[a], h->mount[b]) == 0;
}

/* On v1 several controllers may be one hierarchy: its group is made once.  None is made beside cpu,
 * which cpuacct is often mounted with, for v2_controllers' reason. */
static bool is_made(const struct hierarchy *h, enum controller c)
{
	for (enum controller i = 0; i < c; i++) {
		if (is_mounted_with(h, i, c))
			return true;
	}
	return is_mounted_with(h, c, h->key) || is_mounted_with(h, c, CONTROLLER_CPU);
}

static int make_v1_places(int root_fd, struct group *g, struct error *err)
{
	const struct hierarchy *h = g->hierarchy;
	int r;

	r = make_place(root_fd, h->mount[h->key], h->own[h->key], g->name, &g->places[h->key], err);
	if (r < 0)
		return r;
	for (size_t c = 0; c < CONTROLLER_COUNT; c++) {
		if (c == CONTROLLER_FREEZER || c == CONTROLLER_CPUSET || !h->mount[c] ||
		    is_made(h, (enum controller)c))
			continue;
		/* What cannot be made here is a number less, not a failure. */
		(void)make_place(root_fd, h->mount[c], h->own[c], g->name, &g->places[c], NULL);
	}
	return 0;
}

/* In another PID namespace there may be a process of our number, with a group in the same place. */
int group_make(int root_fd, const struct hierarchy *h, const char *prefix, struct group **ret,
	       struct error *err)
{
	unsigned int number = (unsigned int)getpid();
	int r = -EEXIST;

	for (int tries = 0; r == -EEXIST && tries < NUMBERS_TRIED; tries++) {
		char name[64];

		snprintf(name, sizeof(name), "%s-%u", prefix, number);
		r = group_make_for(root_fd, h, name, getpid(), ret, err);
		if (r >= 0)
			(*ret)->number = number;
		number += PIDS_MAX;
	}
	return r;
}

unsigned int group_number(const struct group *g)
{
	return g->number;
}

int group_make_for(int root_fd, const struct hierarchy *h, const char *name, pid_t client,
		   struct group **ret, struct error *err)
{
	_cleanup_(group_removep) struct group *g = group_new(h, name, client);
	int r;

	if (!g)
		return -ENOMEM;
	if (h->is_v2) {
		r = make_place(root_fd, h->v2_mount, h->v2_own, name, &g->places[V2], err);
		if (r >= 0)
			switch_on_controllers(g, root_fd);
	} else {
		r = make_v1_places(root_fd, g, err);
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(g);
	return 0;
}

/* The directory of the group @path, as the mount of its hierarchy shows it.  Returns a descriptor.
 */
static int open_path(int root_fd, const char *mount, const char *root, const char *path)
{
	_cleanup_free_ char *below = hierarchy_path_below(path, root);
	char dir[4096];
	int fd;

	if (!below)
		return -ENOMEM;
	if ((size_t)snprintf(dir, sizeof(dir), ".%s%s", mount, below) >= sizeof(dir))
		return -ENAMETOOLONG;
	fd = openat(root_fd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int group_open(int root_fd, const struct hierarchy *h, const char *path, struct group **ret,
	       struct error *err)
{
	_cleanup_(group_removep) struct group *g = group_new(h, path, 0);
	size_t key = h->is_v2 ? V2 : (size_t)h->key;
	int fd;

	if (!g)
		return -ENOMEM;
	g->is_of_others = true;
	fd = h->is_v2 ? open_path(root_fd, h->v2_mount, h->v2_root, path)
		      : open_path(root_fd, h->mount[key], h->root[key], path);
	if (fd == -ENOENT || fd == -ENOTDIR)
		return error_set(err, -ENOENT, "there is no cgroup '%s'", path);
	if (fd < 0)
		return error_set_errno(err, fd, "cannot open cgroup '%s'", path);
	g->places[key].fd = fd;
	if (!h->is_v2) {
		for (size_t c = 0; c < CONTROLLER_COUNT; c++) {
			if (h->mount[c] && g->places[c].fd < 0)
				g->places[c].fd = open_path(root_fd, h->mount[c], h->root[c], path);
		}
	}
	*ret = TAKE_PTR(g);
	return 0;
}

int group_fd(const struct group *g, enum controller c)
{
	const struct hierarchy *h = g->hierarchy;

	if (h->is_v2)
		return g->places[V2].fd;
	if (g->places[c].fd >= 0 || !h->mount[c])
		return g->places[c].fd;
	for (size_t i = 0; i < CONTROLLER_COUNT; i++) { /* mounted together with another */
		if (h->mount[i] && g->places[i].fd >= 0 && strcmp(h->mount[i], h->mount[c]) == 0)
			return g->places[i].fd;
	}
	return -EBADF;
}

static int key_fd(const struct group *g)
{
	return g->places[g->hierarchy->is_v2 ? V2 : (size_t)g->hierarchy->key].fd;
}

uint64_t group_id(const struct group *g)
{
	struct stat st;

	/* The inode of a cgroup's directory is the kernel's kn->id wherever inodes have 64 bits. */
	return fstat(key_fd(g), &st) < 0 ? 0 : st.st_ino;
}

bool group_exists(const struct group *g)
{
	return faccessat(key_fd(g), "cgroup.procs", F_OK, 0) == 0;
}

int group_add_process(const struct group *g, pid_t pid, struct error *err)
{
	size_t key = g->hierarchy->is_v2 ? V2 : (size_t)g->hierarchy->key;
	char text[16];
	int r;

	snprintf(text, sizeof(text), "%d", pid);
	for (size_t i = 0; i < ARRAY_SIZE(g->places); i++) { /* the key last, since it is the one
								that counts */
		if (i != key && g->places[i].fd >= 0)
			(void)file_write_existing(g->places[i].fd, "cgroup.procs", text);
	}
	r = file_write_existing(g->places[key].fd, "cgroup.procs", text);
	if (r < 0)
		return error_set_errno(err, r, "cannot move the command into its cgroup");
	return 0;
}

/* Calls @visit with each directory below @fd, deepest first, then with the directory itself. */
static void walk(int fd, int depth, void (*visit)(int fd, void *data), void *data)
{
	_cleanup_(dir_closep) DIR *dir = dir_open(fd, ".");
	struct dirent *entry;

	while (depth < DEPTH_MAX && (entry = next_dir(dir))) {
		_cleanup_close_ int below = openat(fd, entry->d_name,
						   O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

		if (below >= 0)
			walk(below, depth + 1, visit, data);
	}
	visit(fd, data);
}

struct pid_list {
	pid_t *pids;
	size_t max, count;
};

static void collect_pids(int fd, void *data)
{
	struct pid_list *list = data;
	_cleanup_free_ char *text = NULL;
	char *rest, *line;
	int pid;

	if (file_read(fd, "cgroup.procs", 16u << 20, &text, NULL) < 0)
		return;
	for (rest = text; (line = parse_next_line(&rest));) {
		if (parse_int(line, 1, INT32_MAX, &pid) < 0)
			continue;
		if (list->count < list->max)
			list->pids[list->count] = pid;
		list->count++;
	}
}

ssize_t group_list_processes(const struct group *g, pid_t *pids, size_t max)
{
	struct pid_list list = { .pids = pids, .max = max };

	walk(key_fd(g), 0, collect_pids, &list);
	return (ssize_t)list.count;
}

/* @data: the descriptor of the directory that they are moved to. */
static void evict(int fd, void *data)
{
	const int *to_fd = data;
	pid_t pids[256];
	char text[16];

	for (int round = 0; round < 64; round++) { /* a group that forks faster than this stays */
		struct pid_list list = { .pids = pids, .max = ARRAY_SIZE(pids) };

		collect_pids(fd, &list);
		if (!list.count)
			return;
		for (size_t i = 0; i < MIN(list.count, list.max); i++) {
			snprintf(text, sizeof(text), "%d", pids[i]);
			(void)file_write_existing(*to_fd, "cgroup.procs", text);
		}
	}
}

static void remove_below(int fd, void *data)
{
	_cleanup_(dir_closep) DIR *dir = dir_open(fd, ".");
	struct dirent *entry;

	(void)data;
	while ((entry = next_dir(dir)))
		unlinkat(fd, entry->d_name, AT_REMOVEDIR);
}

/* The directory is gone, or cannot go. */
static bool remove_once(const struct place *place, const char *name, int evict_to_fd)
{
	if (place->fd < 0)
		return true;
	walk(place->fd, 0, evict, &evict_to_fd);
	walk(place->fd, 0, remove_below, NULL);
	return unlinkat(place->parent_fd, name, AT_REMOVEDIR) == 0 || errno != EBUSY;
}

static void place_close(struct place *place)
{
	closep(&place->fd);
	closep(&place->parent_fd);
	*place = (struct place){ -EBADF, -EBADF };
}

/* Whoever is left goes to where the caller is; at the end, all go back together. */
static bool remove_v2_once(struct group *g)
{
	struct place *place = &g->places[V2];
	char name[80];

	if (!remove_once(place, g->name, g->aside.fd >= 0 ? g->aside.fd : place->parent_fd))
		return false;
	if (g->switched_on) /* another group may need them by now: then the kernel refuses */
		(void)file_write_existing(place->parent_fd, "cgroup.subtree_control",
					  g->switched_on);
	name_aside(g, name, sizeof(name));
	return remove_once(&g->aside, name, place->parent_fd);
}

static bool remove_all_once(struct group *g)
{
	bool is_gone = true;

	if (g->is_of_others)
		return true;
	for (size_t i = 0; i < CONTROLLER_COUNT; i++) {
		if (remove_once(&g->places[i], g->name, g->places[i].parent_fd))
			place_close(&g->places[i]);
		else
			is_gone = false;
	}
	return remove_v2_once(g) && is_gone;
}

static void group_free(struct group *g)
{
	for (size_t i = 0; i < ARRAY_SIZE(g->places); i++)
		place_close(&g->places[i]);
	place_close(&g->aside);
	free(g->switched_on);
	free(g->name);
	free(g);
}

/* A group may be busy briefly after its last process has gone. */
struct group *group_remove(struct group *g)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	if (!g)
		return NULL;
	for (int tries = 0; tries < 250 && !remove_all_once(g); tries++)
		nanosleep(&pause, NULL);
	group_free(g);
	return NULL;
}

int group_try_remove(struct group **g)
{
	if (!remove_all_once(*g))
		return -EBUSY;
	group_free(*g);
	*g = NULL;
	return 0;
}

/* The kernel removes no directory that has processes. */
struct group *group_abandon(struct group *g)
{
	char name[80];

	if (!g)
		return NULL;
	name_aside(g, name, sizeof(name));
	for (size_t i = 0; i < ARRAY_SIZE(g->places); i++) {
		if (g->places[i].fd >= 0)
			unlinkat(g->places[i].parent_fd, g->name, AT_REMOVEDIR);
	}
	if (g->aside.fd >= 0)
		unlinkat(g->aside.parent_fd, name, AT_REMOVEDIR);
	group_free(g);
	return NULL;
}

void group_removep(struct group **g)
{
	group_remove(*g);
}

bool group_is_v2(const struct group *g)
{
	return g->hierarchy->is_v2;
}
