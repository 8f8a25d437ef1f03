/* SPDX-License-Identifier: MIT */
#include "jobs/slurm_number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "basic/dir.h"
#include "basic/file.h"
#include "basic/parse.h"
#include "cgroup/hierarchy.h"

#define SLUID_DIGITS 13
#define STEPS_MAX 64 /* that are looked at: any of them says it */
#define TITLE "slurmstepd: ["

bool slurm_is_sluid(const char *name)
{
	return *name == 's' && strlen(name) == 1 + SLUID_DIGITS &&
	       strspn(name + 1, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == SLUID_DIGITS;
}

/* "slurmstepd: [42.batch]" */
static int read_title(int root_fd, uint64_t pid, char *ret, size_t size)
{
	char path[64], title[256];
	const char *number;
	struct stat st;
	size_t length;

	snprintf(path, sizeof(path), "proc/%" PRIu64, pid);
	if (fstatat(root_fd, path, &st, 0) < 0 || st.st_uid != 0)
		return -ENOENT;
	snprintf(path, sizeof(path), "proc/%" PRIu64 "/cmdline", pid);
	if (file_read_small(root_fd, path, title, sizeof(title)) <= 0 ||
	    strncmp(title, TITLE, strlen(TITLE)) != 0)
		return -ENOENT;
	number = title + strlen(TITLE);
	length = strspn(number, "0123456789");
	if (!length || length >= size || strcspn(number, ".+]") != length || !number[length])
		return -ENOENT;
	snprintf(ret, size, "%.*s", (int)length, number);
	return 0;
}

/* The group that the slurmstepd of a step has for itself, below the job's. */
static int look_into(int root_fd, const char *job, const char *step, char *ret, size_t size)
{
	_cleanup_free_ char *path = NULL;
	char text[1024], *rest = text, *line;
	uint64_t pid;

	if (asprintf(&path, "%s/%s/slurm/cgroup.procs", job, step) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	if (file_read_small(root_fd, path, text, sizeof(text)) <= 0)
		return -ENOENT;
	while ((line = parse_next_line(&rest))) {
		if (parse_u64(line, &pid) == 0 && read_title(root_fd, pid, ret, size) == 0)
			return 0;
	}
	return -ENOENT;
}

int slurm_number_find(int root_fd, const struct hierarchy *h, const char *path, char *ret,
		      size_t size)
{
	_cleanup_free_ char *top = hierarchy_find_dir(h, path);
	_cleanup_(dir_clear) struct dir steps = {};
	const char *below = top ? top + strspn(top, "/") : NULL;

	if (!top)
		return -ENOMEM;
	if (dir_read(root_fd, below, 16 * STEPS_MAX, &steps) < 0)
		return -ENOENT;
	for (size_t i = 0, seen = 0; i < steps.count && seen < STEPS_MAX; i++) {
		if (strncmp(steps.names[i], "step_", strlen("step_")) != 0)
			continue;
		seen++;
		if (look_into(root_fd, below, steps.names[i], ret, size) == 0)
			return 0;
	}
	return -ENOENT;
}
