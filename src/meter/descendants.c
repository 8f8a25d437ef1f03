/* SPDX-License-Identifier: MIT */
#include "descendants.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "file.h"
#include "parse.h"

#define PROCESSES_MAX (1u << 22) /* the kernel's own limit of pids */

struct process {
	pid_t pid, parent;
	bool is_below;
};

struct processes {
	struct process *items;
	size_t count, room;
};

int descendants_parse_stat(const char *text, char *ret_state, pid_t *ret_parent)
{
	const char *p = strrchr(text, ')'); /* the last: a name may hold one too */
	uint64_t parent;

	if (!p || p[1] != ' ' || p[2] == '\0' || p[3] != ' ')
		return -EINVAL;
	*ret_state = p[2];
	p += 4;
	if (parse_leading_u64(&p, &parent) < 0 || parent > INT32_MAX)
		return -EINVAL;
	*ret_parent = (pid_t)parent;
	return 0;
}

static int add_process(struct processes *list, pid_t pid, pid_t parent)
{
	if (list->count == list->room) {
		size_t room = list->room ? list->room * 2 : 256;
		struct process *larger;

		if (room > PROCESSES_MAX)
			return -E2BIG;
		larger = realloc(list->items, room * sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		list->items = larger;
		list->room = room;
	}
	list->items[list->count++] = (struct process){ .pid = pid, .parent = parent };
	return 0;
}

static int read_processes(int root_fd, struct processes *list)
{
	int fd = openat(root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	while (r >= 0 && (entry = readdir(dir))) {
		char path[64], text[1024], state;
		pid_t parent;
		int pid;

		if (parse_int(entry->d_name, 1, INT32_MAX, &pid) < 0)
			continue;
		snprintf(path, sizeof(path), "proc/%d/stat", pid);
		if (file_read_small(root_fd, path, text, sizeof(text)) < 0 ||
		    descendants_parse_stat(text, &state, &parent) < 0 || state == 'Z')
			continue; /* it went while we looked */
		r = add_process(list, pid, parent);
	}
	closedir(dir);
	return r;
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

			if (p->is_below || !is_below(&list, p->parent, top))
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
