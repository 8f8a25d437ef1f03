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

int placement_read(int root_fd, const struct hierarchy *h, pid_t pid, struct placement *ret,
		   struct error *err)
{
	_cleanup_(placement_clear) struct placement p = { .pid = pid };
	char path[64];
	struct stat st;
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
	snprintf(path, sizeof(path), "proc/%d/comm", pid);
	(void)file_read_one_line(root_fd, path, p.command, sizeof(p.command));
	p.dir = hierarchy_find_dir(h, p.path);
	if (!p.dir)
		return -ENOMEM;
	/* the inode of the group's directory, which is from "/" on: below the root without that */
	if (fstatat(root_fd, p.dir + strspn(p.dir, "/"), &st, 0) == 0)
		p.cgroup_id = st.st_ino;
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
