/* SPDX-License-Identifier: MIT */
/*
 * grouped - tells what the files of groups say, again at each line of its standard input.
 *
 *     grouped [--max DESCRIPTORS] PATH...     paths in the key hierarchy
 *
 * A line a group: "PATH section.key=NUMBER...", or "PATH gone"; then "descriptors USED reopened
 * TIMES".
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cgroup/allocation.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "cgroup/group_files.h"
#include "basic/parse.h"

#define GROUPS_MAX 64

struct watched {
	const char *path;
	struct group_files *files;
};

static void tell_values(const struct value values[METRIC_JOB_COUNT])
{
	for (size_t i = 0; i < METRIC_JOB_COUNT; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		if (values[i].is_known)
			printf(" %s.%s=%" PRIu64, metric->section, metric->key,
			       (uint64_t)values[i].number);
	}
}

static void tell_allocation(int root_fd, const struct hierarchy *h, const char *path)
{
	_cleanup_(allocation_clear) struct allocation a = {};

	if (allocation_read_group(root_fd, h, path, &a) < 0)
		return;
	printf(" cpus=%s", a.cpus ? a.cpus : "-");
	if (a.cores.is_known)
		printf(" millicores=%" PRIu64, (uint64_t)a.cores.number);
	if (a.memory.is_known)
		printf(" limit=%" PRIu64, (uint64_t)a.memory.number);
}

static void tell(int root_fd, const struct hierarchy *h, const struct watched *w)
{
	struct value values[METRIC_JOB_COUNT] = {};
	int r = w->files ? group_files_read(w->files, NULL, values) : -ENODEV;

	printf("%s", w->path);
	if (r < 0) {
		puts(r == -ENODEV ? " gone" : " failed");
		return;
	}
	tell_values(values);
	tell_allocation(root_fd, h, w->path);
	putchar('\n');
}

int main(int argc, char **argv)
{
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	struct watched watched[GROUPS_MAX] = {};
	struct group_files_budget budget;
	struct error err = {};
	int first = 1, max = 0, count;
	char line[16];

	group_files_budget_init(&budget, 64);
	if (argc > 2 && strcmp(argv[1], "--max") == 0 &&
	    parse_int(argv[2], 0, INT32_MAX, &max) == 0) {
		budget.max = (unsigned int)max;
		first = 3;
	}
	count = argc - first;
	if (count < 1 || count > GROUPS_MAX || hierarchy_read(root_fd, &h, &err) < 0) {
		fprintf(stderr, "grouped: %s\n",
			*err.text ? err.text : "usage: grouped [--max N] PATH...");
		return 2;
	}
	for (int i = 0; i < count; i++) {
		watched[i].path = argv[first + i];
		(void)group_files_open(root_fd, &h, watched[i].path, 0, &budget, &watched[i].files);
	}
	while (fgets(line, sizeof(line), stdin)) {
		for (int i = 0; i < count; i++)
			tell(root_fd, &h, &watched[i]);
		printf("descriptors %u reopened %" PRIu64 "\n", budget.used, budget.reopened);
		fflush(stdout);
	}
	for (int i = 0; i < count; i++)
		group_files_close(watched[i].files);
	return 0;
}
