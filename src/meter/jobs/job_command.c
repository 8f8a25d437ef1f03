/* SPDX-License-Identifier: MIT */
#include "jobs/job_command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/file.h"
#include "cgroup/hierarchy.h"
#include "basic/macro.h"
#include "basic/parse.h"

/* What a job can make grow, and is looked at no further. */
#define DEPTH_MAX 8
#define GROUPS_MAX 64
#define PROCESSES_MAX 256
#define LIST_MAX (64 * 1024)
#define ENVIRONMENT_MAX (256 * 1024)

#define FIELDS_BEFORE_START 20 /* behind the name, the state first: proc_pid_stat(5) */

enum rank { /* the least is taken */
	    RANK_OWN, /* the job's */
	    RANK_SCRIPT, /* a name that the manager gives to the job's script */
	    RANK_MANAGER,
};

struct search {
	int root_fd;
	size_t groups, processes;
	struct job_command found;
	enum rank rank; /* of what was found */
};

/* What starts a job's processes, and is none of them. */
static const struct {
	const char *name;
	enum rank rank;
} managers[] = {
	{ "slurmstepd", RANK_MANAGER },	     { "srun", RANK_MANAGER },
	{ "slurm_script", RANK_SCRIPT },     { "sge_shepherd", RANK_MANAGER },
	{ "pbs_mom", RANK_MANAGER },	     { "orted", RANK_MANAGER },
	{ "prted", RANK_MANAGER },	     { "mpirun", RANK_MANAGER },
	{ "mpiexec", RANK_MANAGER },	     { "hydra_pmi_proxy", RANK_MANAGER },
	{ "hydra_bstrap_pr", RANK_MANAGER },
};

/* Where the environment has the job's name. */
static const struct {
	const char *manager, *variable;
} labels[] = {
	{ "slurm", "SLURM_JOB_NAME=" },
	{ "pbs", "PBS_JOBNAME=" },
	{ "sge", "JOB_NAME=" },
};

static enum rank rank_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(managers); i++) {
		if (strcmp(managers[i].name, name) == 0)
			return managers[i].rank;
	}
	return RANK_OWN;
}

int job_command_parse_stat(const char *text, struct job_command *ret)
{
	const char *begin = strchr(text, '('), *end = strrchr(text, ')'), *p;
	struct job_command c = {};
	uint64_t pid, start;
	size_t length;

	p = text;
	if (!begin || !end || end < begin || parse_leading_u64(&p, &pid) < 0 || !pid ||
	    pid > INT32_MAX)
		return -EINVAL;
	length = MIN((size_t)(end - begin - 1), sizeof(c.name) - 1);
	p = end + 1;
	for (int i = 0; i < FIELDS_BEFORE_START; i++) {
		p = strchr(p, ' ');
		if (!p)
			return -EINVAL;
		p++;
	}
	if (parse_leading_u64(&p, &start) < 0)
		return -EINVAL;
	c.pid = (pid_t)pid;
	c.start = start;
	memcpy(c.name, begin + 1, length);
	*ret = c;
	return 0;
}

static int read_stat(int root_fd, pid_t pid, struct job_command *ret)
{
	char path[64], text[1024];
	int r;

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	r = file_read_small(root_fd, path, text, sizeof(text));
	return r < 0 ? r : job_command_parse_stat(text, ret);
}

static bool is_better(const struct search *s, const struct job_command *c, enum rank rank)
{
	if (!s->found.pid || rank != s->rank)
		return !s->found.pid || rank < s->rank;
	return c->start != s->found.start ? c->start < s->found.start : c->pid < s->found.pid;
}

static void look_at(struct search *s, pid_t pid)
{
	struct job_command c;
	enum rank rank;

	if (read_stat(s->root_fd, pid, &c) < 0)
		return; /* it is gone */
	rank = rank_of(c.name);
	if (rank == RANK_MANAGER || !*c.name || !is_better(s, &c, rank))
		return;
	s->found = c;
	s->rank = rank;
}

static void look_at_processes(struct search *s, int group_fd)
{
	_cleanup_free_ char *list = NULL;
	const char *p;

	if (file_read(group_fd, "cgroup.procs", LIST_MAX, &list, NULL) < 0)
		return;
	for (p = list; *p && s->processes < PROCESSES_MAX; p += *p == '\n') {
		uint64_t pid;

		if (parse_leading_u64(&p, &pid) < 0 || pid > INT32_MAX)
			return;
		s->processes++;
		look_at(s, (pid_t)pid);
	}
}

static void look_below(struct search *s, int dir_fd, const char *name, unsigned int depth)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	s->groups++;
	look_at_processes(s, fd);
	while (depth < DEPTH_MAX && s->groups < GROUPS_MAX && (entry = readdir(dir))) {
		/* A step in which the manager keeps a process of its own, for as long as the job
		 * lasts, is left out. */
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
		    strcmp(entry->d_name, "step_extern") != 0)
			look_below(s, fd, entry->d_name, depth + 1);
	}
	closedir(dir);
}

static const char *variable_of(const char *manager)
{
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		if (strcmp(labels[i].manager, manager) == 0)
			return labels[i].variable;
	}
	return NULL;
}

bool job_command_names(const char *manager)
{
	return variable_of(manager) || strcmp(manager, "run") == 0;
}

/* What cannot be read has none. */
static void take_label(int root_fd, const char *variable, struct job_command *c)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	size_t length, size = variable ? strlen(variable) : 0;

	snprintf(path, sizeof(path), "proc/%d/environ", c->pid);
	if (!variable || file_read(root_fd, path, ENVIRONMENT_MAX, &text, &length) < 0)
		return;
	for (const char *p = text; p < text + length; p += strlen(p) + 1) {
		if (strncmp(p, variable, size) == 0) {
			snprintf(c->label, sizeof(c->label), "%s", p + size);
			return;
		}
	}
}

int job_command_find(int root_fd, const struct hierarchy *h, const char *manager, const char *path,
		     struct job_command *ret)
{
	_cleanup_free_ char *dir = hierarchy_find_dir(h, path);
	struct search s = { .root_fd = root_fd };

	if (!dir)
		return -ENOMEM;
	look_below(&s, root_fd, dir + strspn(dir, "/"), 0);
	if (!s.found.pid)
		return -ENOENT;
	take_label(root_fd, variable_of(manager), &s.found);
	*ret = s.found;
	return 0;
}

bool job_command_lives(int root_fd, pid_t pid, uint64_t start, const char *name)
{
	struct job_command now;

	return pid && name && read_stat(root_fd, pid, &now) == 0 && now.start == start &&
	       strcmp(now.name, name) == 0;
}
