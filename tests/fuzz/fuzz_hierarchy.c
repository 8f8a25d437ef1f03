/* SPDX-License-Identifier: MIT */
/*
 * Any files where the cgroups are found by: what is taken as a hierarchy is whole, its own group is
 * found again, and process 7 and the limits above it are read through it.
 */
#include <string.h>

#include "cgroup/allocation.h"
#include "basic/cleanup.h"
#include "basic/cpulist.h"
#include "basic/error.h"
#include "basic/file.h"
#include "fuzz.h"
#include "cgroup/hierarchy.h"
#include "made_root.h"
#include "cgroup/placement.h"

static void check_place(const char *mount, const char *own, const char *root)
{
	CHECK(!mount == !own && !mount == !root);
	CHECK(!own || *own == '/');
}

static void check_own_path(const struct hierarchy *h, const char *cgroups)
{
	const char *mount = h->is_v2 ? h->v2_mount : h->mount[h->key];
	const char *own = hierarchy_own_path(h);
	_cleanup_free_ char *path = NULL, *dir = NULL;
	size_t length;

	CHECK(mount && own);
	CHECK(hierarchy_find_path(h, cgroups, &path) == 0);
	dir = hierarchy_find_dir(h, path);
	CHECK(strncmp(dir, mount, strlen(mount)) == 0);
	/* The mark of a removed group, which a process that lives is never in, goes as it is found.
	 */
	length = strlen(dir + strlen(mount));
	CHECK(strncmp(dir + strlen(mount), own, length) == 0);
	CHECK(!own[length] || strcmp(own + length, " (deleted)") == 0);
}

static void check_allocation(int root_fd, const struct hierarchy *h)
{
	struct reading reading = {};
	const struct value *cores = &reading.values[METRIC_CPU_ALLOCATED];
	const struct value *memory = &reading.values[METRIC_MEMORY_LIMIT];
	_cleanup_free_ char *cpus = NULL;
	struct cpulist list;

	CHECK(allocation_read(root_fd, h, &reading, &cpus) == 0);
	CHECK(cpulist_parse(cpus, &list) == 0);
	CHECK(cores->is_known && cores->number <= (uint64_t)cpulist_count(&list) * 1000);
	CHECK(!memory->is_known || memory->number < UINT64_MAX);
	reading_clear(&reading);
}

static void check_placement(int root_fd, const struct hierarchy *h)
{
	_cleanup_(placement_clear) struct placement p = {};
	struct error err = {};

	if (placement_read(root_fd, h, 7, &p, &err) < 0) {
		CHECK(*err.text && !p.path);
		return;
	}
	CHECK(*p.path == '/' && *p.dir);
	CHECK(strnlen(p.command, sizeof(p.command)) < sizeof(p.command));
	CHECK(!strchr(p.command, '\n'));
	CHECK(!p.has_identity || p.identity.end <= strlen(p.path));
	CHECK(!p.has_outer || (p.has_identity && p.outer.end <= p.identity.start));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	_cleanup_free_ char *cgroups = NULL;
	int root_fd = made_root_fd();
	struct error err = {};

	made_root_fill(root_fd, data, size);
	if (hierarchy_read(root_fd, &h, &err) == 0) {
		for (size_t i = 0; i < CONTROLLER_COUNT; i++)
			check_place(h.mount[i], h.own[i], h.root[i]);
		check_place(h.v2_mount, h.v2_own, h.v2_root);
		CHECK(file_read(root_fd, "proc/self/cgroup", 1 << 20, &cgroups, NULL) == 0);
		check_own_path(&h, cgroups);
		check_allocation(root_fd, &h);
		check_placement(root_fd, &h);
	} else {
		CHECK(*err.text && !h.v2_mount);
	}
	made_root_clear();
	return 0;
}
