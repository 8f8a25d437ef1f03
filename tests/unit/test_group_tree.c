/* SPDX-License-Identifier: MIT */
#include "cgroup/group_tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "cgroup/hierarchy.h"
#include "test.h"
#include "tree.h"

static char mount_point[] = "/cg", top[] = "/", own[] = "/";
static const struct hierarchy v2 = {
	.is_v2 = true, .v2_mount = mount_point, .v2_root = top, .v2_own = own
};

#define MOST 200

struct look {
	struct group_life *items;
	size_t count;
};

static struct look look(struct group_tree *t, uint64_t boot_ns)
{
	struct look l = {};
	struct error err = {};

	ASSERT_OK(group_tree_look(t, boot_ns, &l.items, &l.count, &err));
	return l;
}

static const struct group_life *find(const struct look *l, const char *path)
{
	for (size_t i = 0; i < l->count; i++) {
		if (strcmp(l->items[i].path, path) == 0)
			return &l->items[i];
	}
	return NULL;
}

static struct group_tree *open_tree(int root_fd)
{
	struct group_tree *t;
	struct error err = {};

	tree_write(root_fd, "cg/slurm/job_7/cgroup.procs", "");
	tree_write(root_fd, "cg/slurm/job_7/step_0/cgroup.procs", "");
	ASSERT_OK(group_tree_open(root_fd, &v2, MOST, &t, &err));
	return t;
}

TEST(the_first_look_does_not_know_when_groups_were_born)
{
	_cleanup_close_ int fd = tree_open("group-tree-first");
	struct group_tree *t = open_tree(fd);
	struct look l = look(t, 17);

	ASSERT_EQ(l.count, 3U);
	ASSERT_EQ(find(&l, "/slurm/job_7/step_0")->parent, find(&l, "/slurm/job_7")->id);
	ASSERT_EQ(find(&l, "/slurm/job_7")->born_ns, 0U);
	free(l.items);
	group_tree_close(t);
}

TEST(what_is_below_a_users_directory_is_delegated)
{
	_cleanup_close_ int fd = tree_open("group-tree-users");
	struct group_tree *t = open_tree(fd);
	struct look l;

	if (geteuid() != 0) { /* all of it is a user's */
		l = look(t, 17);
		ASSERT(find(&l, "/slurm/job_7")->is_delegated);
	} else {
		ASSERT_OK(fchownat(fd, "cg/slurm/job_7", 1000, 1000, 0));
		ASSERT_OK(fchownat(fd, "cg/slurm/job_7/step_0", 1001, 1001, 0));
		tree_write(fd, "cg/slurm/job_7/step_0/below/cgroup.procs", "");
		tree_write(fd, "cg/open/job_8/cgroup.procs", "");
		ASSERT_OK(fchmodat(fd, "cg/open", 0777, 0));
		l = look(t, 17);
		ASSERT(!find(&l, "/slurm/job_7")->is_delegated); /* root made it, and gave it away
								  */
		ASSERT_EQ(find(&l, "/slurm/job_7")->maker_uid, 0u);
		ASSERT(find(&l, "/slurm/job_7/step_0")->is_delegated);
		ASSERT_EQ(find(&l, "/slurm/job_7/step_0")->maker_uid, 1001u);
		ASSERT(find(&l, "/slurm/job_7/step_0/below")->is_delegated);
		ASSERT_EQ(find(&l, "/slurm/job_7/step_0/below")->maker_uid, 0u);
		ASSERT(!find(&l, "/open")->is_delegated && find(&l, "/open/job_8")->is_delegated);
	}
	free(l.items);
	group_tree_close(t);
}

TEST(a_group_is_born_and_dies_once)
{
	_cleanup_close_ int fd = tree_open("group-tree-life");
	struct group_tree *t = open_tree(fd);
	struct look l = look(t, 17);

	free(l.items);
	ASSERT_EQ(mkdirat(fd, "cg/slurm/job_11", 0755), 0);
	l = look(t, 19);
	ASSERT_EQ(find(&l, "/slurm/job_11")->born_ns, 19U);
	free(l.items);
	ASSERT_EQ(unlinkat(fd, "cg/slurm/job_11", AT_REMOVEDIR), 0);
	l = look(t, 23);
	ASSERT_EQ(find(&l, "/slurm/job_11")->born_ns, 19U);
	ASSERT_EQ(find(&l, "/slurm/job_11")->died_ns, 23U);
	free(l.items);
	l = look(t, 29);
	ASSERT(!find(&l, "/slurm/job_11"));
	ASSERT_EQ(l.count, 3U);
	free(l.items);
	group_tree_close(t);
}

TEST(a_path_that_is_too_long_is_cut_and_says_so)
{
	_cleanup_close_ int fd = tree_open("group-tree-long");
	struct group_tree *t = open_tree(fd);
	char path[1024] = "cg";
	struct look l;
	size_t cut = 0;

	while (strlen(path) < 600) {
		strcat(path, "/0123456789abcdef0123456789abcdef");
		ASSERT_EQ(mkdirat(fd, path, 0755), 0);
	}
	l = look(t, 17);
	for (size_t i = 0; i < l.count; i++)
		cut += l.items[i].is_cut;
	ASSERT(cut > 0 && cut < l.count);
	free(l.items);
	group_tree_close(t);
}

TEST(whoever_makes_too_many_groups_ends_none_of_others)
{
	_cleanup_close_ int fd = tree_open("group-tree-many");
	struct group_tree *t = open_tree(fd);
	struct look l;
	char path[64];

	for (int i = 0; i < 32; i++) { /* some of these are behind the many, in any order */
		snprintf(path, sizeof(path), "cg/other%d/job_1/cgroup.procs", i);
		tree_write(fd, path, "");
	}
	l = look(t, 17);
	free(l.items);
	for (int i = 0; i < 2 * MOST; i++) {
		snprintf(path, sizeof(path), "cg/many/%d/cgroup.procs", i);
		tree_write(fd, path, "");
	}
	ASSERT_OK(unlinkat(fd, "cg/other7/job_1/cgroup.procs", 0));
	ASSERT_OK(unlinkat(fd, "cg/other7/job_1", AT_REMOVEDIR));
	l = look(t, 18);
	ASSERT(l.count >= MOST && l.count < 2 * MOST);
	for (int i = 0; i < 32; i++) {
		snprintf(path, sizeof(path), "/other%d/job_1", i);
		ASSERT(find(&l, path));
		ASSERT_EQ(find(&l, path)->died_ns, UINT64_C(18) * (i == 7));
	}
	free(l.items);
	group_tree_close(t);
}

TEST(without_a_hierarchy_there_is_an_error)
{
	_cleanup_close_ int fd = tree_open("group-tree-none");
	struct group_tree *t = NULL;
	struct error err = {};

	ASSERT(group_tree_open(fd, &v2, MOST, &t, &err) < 0);
	ASSERT(!t && *err.text);
	ASSERT(!group_tree_close(NULL));
}
