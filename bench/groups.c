/* SPDX-License-Identifier: MIT */
#include "groups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "keeper.h"
#include "basic/macro.h"

#define FIRST_JOB 90000001 /* so that none is in the way of a real one */
#define JOBS_MOST 1000000
#define TOPS_MAX (CONTROLLER_COUNT + 1)
#define TOUCHED_BYTES (256u << 10)

static const char v1_above[] = "/slurm/uid_1000", v2_above[] = "/system.slice/slurmstepd.scope";

struct groups {
	int root_fd;
	size_t count;
	const char *above;
	const char *mounts[TOPS_MAX];
	size_t mount_count;
	const struct groups_mounts *work;
	int done_fds[2]; /* a byte for each that has worked */
	pid_t *sleepers;
	size_t sleeper_count;
	int lock_fd;
	pid_t keeper; /* removes them where we are killed */
	char path[128];
};

const char *groups_path(struct groups *g, size_t index)
{
	snprintf(g->path, sizeof(g->path), "%s/job_%zu", g->above, FIRST_JOB + index);
	return g->path;
}

/* Cpusets apart: nothing may run in one before it is given CPUs. */
static void choose_mounts(const struct hierarchy *h, struct groups *g)
{
	if (h->is_v2)
		g->mounts[g->mount_count++] = h->v2_mount;
	for (size_t c = 0; !h->is_v2 && c < CONTROLLER_CPUSET; c++) {
		bool is_new = h->mount[c];

		for (size_t i = 0; i < g->mount_count && is_new; i++)
			is_new = strcmp(g->mounts[i], h->mount[c]) != 0;
		if (is_new)
			g->mounts[g->mount_count++] = h->mount[c];
	}
}

static void full_path(const char *mount, const char *path, char ret[4096])
{
	snprintf(ret, 4096, ".%s%s", mount, path);
}

/* On v2 each group above hands its controllers down; v1 has no such file. */
static int make_group(const struct groups *g, const char *mount, const char *path,
		      struct error *err)
{
	char full[4096];
	size_t begin = strlen(mount) + 1;

	full_path(mount, path, full);
	for (char *slash = full + begin; slash; slash = strchr(slash + 1, '/')) {
		char control[4200];

		*slash = '\0';
		if (mkdirat(g->root_fd, full, 0755) < 0 && errno != EEXIST)
			return error_set_errno(err, errno, "cannot make '%s'", full);
		snprintf(control, sizeof(control), "%s/cgroup.subtree_control", full);
		(void)file_write_existing(g->root_fd, control, "+cpu +memory +pids");
		*slash = '/';
	}
	if (mkdirat(g->root_fd, full, 0755) < 0 && errno != EEXIST)
		return error_set_errno(err, errno, "cannot make '%s'", full);
	return 0;
}

static bool use_file(const char *dir)
{
	char path[4096], block[4096] = "x";
	struct stat st;
	bool is_good;
	int fd;

	snprintf(path, sizeof(path), "%s/%d", dir, getpid());
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	is_good = write(fd, block, sizeof(block)) == (ssize_t)sizeof(block) &&
		  pread(fd, block, sizeof(block), 0) == (ssize_t)sizeof(block) &&
		  fstat(fd, &st) == 0 && fsync(fd) == 0;
	close(fd);
	return unlink(path) == 0 && is_good;
}

static bool work(const struct groups_mounts *mounts, size_t index)
{
	size_t count = 2 + index % (mounts->count - 1);
	bool is_good = true;

	for (size_t i = 0; i < count; i++)
		is_good &= use_file(mounts->paths[i]);
	return is_good;
}

/* SIGUSR1, which is blocked, wakes it. */
static _Noreturn void sleep_and_work(const struct groups *g, size_t index, pid_t parent)
{
	char *block = malloc(TOUCHED_BYTES);
	sigset_t wake;
	int number;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it has ended already */
		_exit(1);
	if (block)
		memset(block, 'x', TOUCHED_BYTES); /* so that the group has something to tell */
	sigemptyset(&wake);
	sigaddset(&wake, SIGUSR1);
	for (;;) {
		bool is_good = sigwait(&wake, &number) == 0 && work(g->work, index);

		if (write(g->done_fds[1], is_good ? "y" : "n", 1) != 1)
			_exit(1);
	}
}

int groups_work(struct groups *g)
{
	bool is_good = true;
	char byte;

	for (size_t i = 0; i < g->sleeper_count; i++) {
		kill(g->sleepers[i], SIGUSR1);
		is_good &= read(g->done_fds[0], &byte, 1) == 1 && byte == 'y';
	}
	return is_good ? 0 : -EIO;
}

/* It is in its group before it does anything. */
static int start_sleeper(struct groups *g, size_t index, struct error *err)
{
	char text[16], path[4096];
	pid_t parent = getpid(), pid;
	int pipe_fds[2];

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return error_set_errno(err, errno, "cannot make a pipe");
	pid = fork();
	if (pid == 0) {
		char byte;

		close(pipe_fds[1]);
		if (read(pipe_fds[0], &byte, 1) < 0)
			_exit(1);
		close(pipe_fds[0]);
		sleep_and_work(g, index, parent);
	}
	close(pipe_fds[0]);
	if (pid > 0)
		g->sleepers[g->sleeper_count++] = pid;
	snprintf(text, sizeof(text), "%d", pid);
	for (size_t i = 0; i < g->mount_count && pid > 0; i++) {
		char procs[4200];

		full_path(g->mounts[i], groups_path(g, index), path);
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
		(void)file_write_existing(g->root_fd, procs, text);
	}
	close(pipe_fds[1]);
	return pid < 0 ? error_set_errno(err, errno, "cannot start a process") : 0;
}

/* A group is busy for a moment after its last process has gone. */
static void remove_group(const struct groups *g, const char *mount, const char *path)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	char full[4096];

	full_path(mount, path, full);
	for (int i = 0; i < 1000 && unlinkat(g->root_fd, full, AT_REMOVEDIR) < 0 && errno == EBUSY;
	     i++)
		nanosleep(&pause, NULL);
}

/* Those above go too, unless there is somebody else's in them. */
static void remove_above(const struct groups *g, const char *mount)
{
	char full[4096], *slash;

	full_path(mount, g->above, full);
	while (strlen(full) > strlen(mount) + 1 && unlinkat(g->root_fd, full, AT_REMOVEDIR) == 0 &&
	       (slash = strrchr(full, '/')))
		*slash = '\0';
}

/* ---- their end ---- */

static void remove_all(const struct groups *g)
{
	for (size_t m = 0; m < g->mount_count; m++) {
		for (size_t i = 0; i < g->count; i++) {
			char path[128];

			snprintf(path, sizeof(path), "%s/job_%zu", g->above, FIRST_JOB + i);
			remove_group(g, g->mounts[m], path);
		}
		remove_above(g, g->mounts[m]);
	}
}

/* One bench at a time has such groups: what is there without a lock was left behind. */
static int lock(struct groups *g, struct error *err)
{
	char full[4096];

	full_path(g->mounts[0], "/", full);
	g->lock_fd = openat(g->root_fd, full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (g->lock_fd < 0)
		return error_set_errno(err, errno, "cannot open '%s'", full);
	if (flock(g->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return error_set_errno(err, errno, "another bench has its groups there");
	return 0;
}

static bool is_ours(const char *name, size_t *ret_index)
{
	char *end;
	unsigned long number;

	if (strncmp(name, "job_", 4) != 0)
		return false;
	number = strtoul(name + 4, &end, 10);
	*ret_index = number - FIRST_JOB;
	return !*end && number >= FIRST_JOB && *ret_index < JOBS_MOST;
}

/* How many groups of one hierarchy a bench left that was killed together with its keeper. */
static size_t remove_left(const struct groups *g, const char *mount)
{
	char full[4096];
	struct dirent *entry;
	size_t count = 0, index;
	DIR *dir;
	int fd;

	full_path(mount, g->above, full);
	fd = openat(g->root_fd, full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && (entry = readdir(dir)))
		count += is_ours(entry->d_name, &index) &&
			 unlinkat(fd, entry->d_name, AT_REMOVEDIR) == 0;
	if (dir)
		closedir(dir);
	return count;
}

static void remove_leftovers(const struct groups *g)
{
	size_t count = 0;

	for (size_t m = 0; m < g->mount_count; m++)
		count += remove_left(g, g->mounts[m]);
	if (count)
		fprintf(stderr, "bench: %zu groups of an earlier one are removed\n", count);
}

static void end(const void *what)
{
	remove_all(what);
}

/* ---- making them ---- */

/* So that no process is woken before it waits for it. */
static int open_work(struct groups *g, const struct groups_mounts *mounts, struct error *err)
{
	sigset_t wake;

	g->work = mounts;
	sigemptyset(&wake);
	sigaddset(&wake, SIGUSR1);
	if (sigprocmask(SIG_BLOCK, &wake, NULL) < 0 || pipe2(g->done_fds, O_CLOEXEC) < 0)
		return error_set_errno(err, errno, "cannot make a pipe");
	return 0;
}

int groups_make(int root_fd, const struct hierarchy *h, size_t count, size_t every,
		const struct groups_mounts *mounts, struct groups **ret, struct error *err)
{
	_cleanup_(groups_removep) struct groups *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return -ENOMEM;
	g->root_fd = root_fd;
	g->count = count;
	g->done_fds[0] = g->done_fds[1] = g->lock_fd = -EBADF;
	if (open_work(g, mounts, err) < 0)
		return -EIO;
	g->above = h->is_v2 ? v2_above : v1_above;
	g->sleepers = calloc(count, sizeof(*g->sleepers));
	if (!g->sleepers)
		return -ENOMEM;
	choose_mounts(h, g);
	r = lock(g, err);
	if (r < 0)
		return r;
	remove_leftovers(g);
	r = keeper_start(end, g, &g->keeper, err);
	for (size_t i = 0; r >= 0 && i < count; i++) {
		for (size_t m = 0; m < g->mount_count; m++) {
			r = make_group(g, g->mounts[m], groups_path(g, i), err);
			if (r < 0)
				return r;
		}
		if (every && i % every == 0)
			r = start_sleeper(g, i, err);
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(g);
	return 0;
}

struct groups *groups_remove(struct groups *g)
{
	if (!g)
		return NULL;
	for (size_t i = 0; i < g->sleeper_count; i++)
		kill(g->sleepers[i], SIGKILL);
	for (size_t i = 0; i < g->sleeper_count; i++)
		waitpid(g->sleepers[i], NULL, 0);
	if (g->keeper > 0)
		remove_all(g);
	keeper_dismiss(g->keeper);
	closep(&g->lock_fd);
	closep(&g->done_fds[0]);
	closep(&g->done_fds[1]);
	free(g->sleepers);
	free(g);
	return NULL;
}

void groups_removep(struct groups **g)
{
	groups_remove(*g);
}
