/* SPDX-License-Identifier: MIT */
#include "sources/machine.h"

#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "model/record.h"
#include "test.h"
#include "tree.h"

static void make_nodes(int root)
{
	tree_write(root, "sys/devices/system/node/online", "0-1,5\n");
	tree_write(root, "sys/devices/system/node/node0/cpulist", "0-3,8-11\n");
	tree_write(root, "sys/devices/system/node/node1/cpulist", "4-7\n");
	tree_write(root, "sys/devices/system/node/node5/cpulist", "\n"); /* memory alone */
}

TEST(nodes_are_those_that_have_one_of_the_cpus)
{
	static const struct row {
		const char *allowed, *used, *numa_allowed, *numa_used;
	} rows[] = {
		{ "0-11", "9", "0-1", "0" },  { "4-6", "4", "1", "1" },
		{ "3-4", NULL, "0-1", NULL }, { NULL, "7,11", NULL, "0-1" },
		{ "99", "99", NULL, NULL },   { "x", "", NULL, NULL },
	};
	_cleanup_close_ int root = tree_open("nodes");

	make_nodes(root);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(record_freep) struct record *r = record_new();

		r->job.cpus_allowed = rows[i].allowed ? strdup(rows[i].allowed) : NULL;
		r->job.cpus_used = rows[i].used ? strdup(rows[i].used) : NULL;
		ASSERT_OK(machine_describe_numa(root, r));
		ASSERT_STREQ(r->job.numa_allowed ? r->job.numa_allowed : "-",
			     rows[i].numa_allowed ? rows[i].numa_allowed : "-");
		ASSERT_STREQ(r->job.numa_used ? r->job.numa_used : "-",
			     rows[i].numa_used ? rows[i].numa_used : "-");
	}
}

TEST(a_machine_that_tells_of_no_nodes_has_none)
{
	_cleanup_close_ int root = tree_open("no-nodes"), half = tree_open("half");
	_cleanup_(record_freep) struct record *r = record_new();

	r->job.cpus_allowed = strdup("0-3");
	ASSERT_OK(machine_describe_numa(root, r));
	ASSERT(!r->job.numa_allowed);
	tree_write(half, "sys/devices/system/node/online", "0\n");
	ASSERT_OK(machine_describe_numa(half, r)); /* a list is missing: nobody knows */
	ASSERT(!r->job.numa_allowed);
}
