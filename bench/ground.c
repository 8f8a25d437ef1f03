/* SPDX-License-Identifier: MIT */
#include "ground.h"

#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"

struct ground {
	char dir[64];
	char paths[GROUND_MOUNTS][96], config[96];
	const char *mounts[GROUND_MOUNTS];
};

static int mount_all(struct ground *g, struct error *err)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return error_set_errno(err, errno, "cannot have mounts of our own");
	for (int i = 0; i < GROUND_MOUNTS; i++) {
		snprintf(g->paths[i], sizeof(g->paths[i]), "%s/mount%d", g->dir, i);
		g->mounts[i] = g->paths[i];
		if (mkdir(g->paths[i], 0755) < 0 ||
		    mount("bench", g->paths[i], "tmpfs", 0, "size=64m") < 0)
			return error_set_errno(err, errno, "cannot mount '%s'", g->paths[i]);
	}
	return 0;
}

int ground_make(struct ground **ret, struct error *err)
{
	struct ground *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return -ENOMEM;
	strcpy(g->dir, "/tmp/bench-agent.XXXXXX");
	if (!mkdtemp(g->dir) || chmod(g->dir, 0755) < 0) {
		free(g);
		return error_set_errno(err, errno, "cannot make a directory in /tmp");
	}
	snprintf(g->config, sizeof(g->config), "%s/agent.yaml", g->dir);
	r = mount_all(g, err);
	if (r < 0) {
		ground_remove(g);
		return r;
	}
	*ret = g;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path) < 0 && errno != EBUSY ? -1 : 0;
}

struct ground *ground_remove(struct ground *g)
{
	if (!g)
		return NULL;
	for (int i = 0; i < GROUND_MOUNTS; i++) {
		if (g->mounts[i])
			umount2(g->mounts[i], MNT_DETACH);
	}
	nftw(g->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	free(g);
	return NULL;
}

const char *const *ground_mounts(const struct ground *g)
{
	return g->mounts;
}

int ground_port(void)
{
	return 20000 + getpid() % 10000;
}

const char *ground_configure(struct ground *g, int interval_s, bool has_bpf)
{
	_cleanup_fclose_ FILE *file = fopen(g->config, "we");

	if (!file)
		return NULL;
	fprintf(file,
		"listen: 127.0.0.1:%d\ninsecure: on\ninterval: %ds\nuser: nobody\nbpf: %s\n"
		"socket:\n  path: %s/agent.sock\nstate_dir: %s/state\nrun_dir: %s/run\n"
		"pin_dir: /sys/fs/bpf/jobmeter-bench-%d\n",
		ground_port(), interval_s, has_bpf ? "on" : "off", g->dir, g->dir, g->dir,
		getpid());
	return fflush(file) == 0 ? g->config : NULL;
}
