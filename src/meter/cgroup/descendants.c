/* SPDX-License-Identifier: MIT */
#include "cgroup/descendants.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "basic/cleanup.h"
#include "basic/file.h"
#include "basic/dir.h"
#include "basic/parse.h"

#define PROCESSES_MAX (1u << 22) /* the kernel's own limit of pids */

struct process {
	pid_t pid, parent;
	bool is_below;
};

struct processes {
	struct process *items;
	size_t count;
};

int descendants_parse_stat(const char *text, char *ret_state, pid_t *ret_parent)
{
	const char *p = strrchr(text, ')'); /* the last: a name may hold one too */
	uint64_t parent;
	char state;

	if (!p || p[1] != ' ' || p[2] == '\0' || p[3] != ' ')
		return -EINVAL;
	state = p[2];
	p += 4;
	if (parse_leading_u64(&p, &parent) < 0 || parent > INT32_MAX)
		return -EINVAL;
	*ret_state = state;
	*ret_parent = (pid_t)parent;
	return 0;
}

static int read_processes(int root_fd, struct processes *list)
{
	_cleanup_(dir_clear) struct dir names = {};
	int r = dir_read(root_fd, "proc", PROCESSES_MAX, &names);

	if (r < 0)
		return r;
	list->items = calloc(names.count + 1, sizeof(*list->items));
	if (!list->items)
		return -ENOMEM;
	for (size_t i = 0; i < names.count; i++) {
		char path[64], text[1024], state;
		pid_t parent;
		int pid;

		if (parse_int(names.names[i], 1, INT32_MAX, &pid) < 0)
			continue;
		snprintf(path, sizeof(path), "proc/%d/stat", pid);
		if (file_read_small(root_fd, path, text, sizeof(text)) < 0 ||
		    descendants_parse_stat(text, &state, &parent) < 0 || state == 'Z')
			continue; /* it ended meanwhile */
		list->items[list->count++] = (struct process){ .pid = pid, .parent = parent };
	}
	return 0;
}

static bool is_below(const struct processes *list, pid_t parent, pid_t top)
{
	if (parent == top)
		return true;
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].pid == parent)
			return list->items[i].is_below;
	}
	return false;
}

ssize_t descendants_list(int root_fd, pid_t top, pid_t *pids, size_t max)
{
	struct processes list = {};
	ssize_t count = 0;
	bool has_grown = true;
	int r = read_processes(root_fd, &list);

	while (r >= 0 && has_grown) { /* one level a round */
		has_grown = false;
		for (size_t i = 0; i < list.count; i++) {
			struct process *p = &list.items[i];

			if (p->is_below || p->pid == top || !is_below(&list, p->parent, top))
				continue;
			p->is_below = has_grown = true;
			if ((size_t)count < max)
				pids[count] = p->pid;
			count++;
		}
	}
	free(list.items);
	return r < 0 ? r : count;
}

/* A zombie stays until its parent waits for it; a process whose main thread has ended lives on in
 * the others. */
bool descendants_is_alive(int root_fd, pid_t pid)
{
	char path[64], text[1024], state;
	struct stat threads;
	pid_t parent;

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	if (file_read_small(root_fd, path, text, sizeof(text)) <= 0 ||
	    descendants_parse_stat(text, &state, &parent) < 0 || state == 'X')
		return false;
	snprintf(path, sizeof(path), "proc/%d/task", pid);
	return state != 'Z' || (fstatat(root_fd, path, &threads, 0) == 0 && threads.st_nlink > 3);
}
