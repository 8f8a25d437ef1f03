/* SPDX-License-Identifier: MIT */
#include "cgroup/placement.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"

#define CGROUPS_MAX (1u << 20)

/* The inode of the group's directory is the kernel's id. */
static uint64_t read_cgroup_id(int root_fd, const char *dir)
{
	struct stat st;

	/* the directory is from "/" on, and so below the root without its "/" */
	return fstatat(root_fd, dir + strspn(dir, "/"), &st, 0) < 0 ? 0 : st.st_ino;
}

static void read_command(int root_fd, pid_t pid, char *ret, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/%d/comm", pid);
	if (file_read_small(root_fd, path, ret, size) < 0)
		*ret = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}

int placement_read(int root_fd, const struct hierarchy *h, pid_t pid, struct placement *ret,
		   struct error *err)
{
	_cleanup_(placement_clear) struct placement p = { .pid = pid };
	char path[64];
	int r;

	snprintf(path, sizeof(path), "proc/%d/cgroup", pid);
	r = file_read(root_fd, path, CGROUPS_MAX, &p.cgroups, NULL);
	if (r == -ENOENT || r == -ESRCH)
		return error_set(err, -ESRCH, "there is no process %d", pid);
	if (r < 0)
		return error_set_errno(err, r, "cannot read '%s'", path);
	r = hierarchy_find_path(h, p.cgroups, &p.path);
	if (r < 0)
		return error_set(err, r, "process %d is not in the key hierarchy", pid);
	read_command(root_fd, pid, p.command, sizeof(p.command));
	p.dir = hierarchy_find_dir(h, p.path);
	if (!p.dir)
		return -ENOMEM;
	p.cgroup_id = read_cgroup_id(root_fd, p.dir);
	p.has_identity = identity_of(NULL, p.path, &p.identity);
	p.has_outer = p.has_identity && identity_around(NULL, p.path, &p.identity, &p.outer);
	*ret = p;
	memset(&p, 0, sizeof(p)); /* handed over */
	return 0;
}

void placement_clear(struct placement *p)
{
	free(p->cgroups);
	free(p->path);
	free(p->dir);
	*p = (struct placement){};
}
