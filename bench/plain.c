/* SPDX-License-Identifier: MIT */
#include "plain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup/group_files.h"
#include "groups.h"

#define FILES_MAX 16

struct plain {
	size_t count, files;
	uint64_t sum; /* so that what is read is used */
	char *paths[][FILES_MAX]; /* of each group; NULL-ended */
};

static bool list_files(struct plain *p, const struct hierarchy *h, const char *group, char **paths,
		       struct metric_set wanted)
{
	const char *last = "", *mount, *below;
	size_t count = 0;

	for (size_t i = 0; i < group_field_count; i++) {
		const struct group_field *f = &group_fields[i];
		const char *file = h->is_v2 ? f->v2_file : f->v1_file;
		char *path;

		if (!file || !(metric_set_has(&wanted, f->metric)) || strcmp(file, last) == 0 ||
		    !hierarchy_find_place(h, f->controller, group, &mount, &below))
			continue;
		last = file;
		if (asprintf(&path, "%s%s/%s", mount, below, file) < 0)
			return false;
		if (access(path, R_OK) == 0)
			paths[count++] = path;
		else
			free(path);
	}
	p->files = count;
	return true;
}

struct plain *plain_new(const struct hierarchy *h, struct groups *groups, size_t count,
			struct metric_set wanted)
{
	struct plain *p = calloc(1, sizeof(*p) + count * sizeof(*p->paths));

	for (size_t i = 0; p && i < count; i++) {
		p->count = i + 1;
		if (!list_files(p, h, groups_path(groups, i), p->paths[i], wanted))
			p = plain_free(p);
	}
	return p;
}

struct plain *plain_free(struct plain *p)
{
	for (size_t i = 0; p && i < p->count; i++) {
		for (char **path = p->paths[i]; *path; path++)
			free(*path);
	}
	free(p);
	return NULL;
}

size_t plain_files(const struct plain *p)
{
	return p->files;
}

int plain_read(struct plain *p, size_t group)
{
	char text[8192];

	for (char **path = p->paths[group]; *path; path++) {
		int fd = open(*path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

		if (n < 0)
			return -errno;
		p->sum += (uint64_t)n;
		close(fd);
	}
	return 0;
}
