/* SPDX-License-Identifier: MIT */
/* counted - what of tasks, sockets, files and devices is counted: a bit each.  What is not is not
 * known, which is not zero. */
#pragma once

enum counted {
	COUNTED_TASKS = 1 << 0, /* T0's totals, of ended tasks and of live ones */
	COUNTED_TIMES = 1 << 1, /* T1's time by cause */
	COUNTED_LOOKS = 1 << 2, /* T2's polls and yields */
	COUNTED_NETWORK = 1 << 3, /* what goes through sockets... */
	COUNTED_CONNECTIONS = 1 << 4, /* ...with TCP's own numbers... */
	COUNTED_DETAILS = 1 << 5, /* ...and its segments and round-trip times */
	COUNTED_BLOCK = 1 << 6,
	COUNTED_FILES = 1 << 7,
	COUNTED_CLOCK = 1 << 8, /* how long calls on files took */
	COUNTED_SYSCALLS = 1 << 9, /* T3's calls by name */
	COUNTED_HOT_FILES = 1 << 10, /* T3's files one by one */
	COUNTED_SPINNING = 1 << 11, /* how long tasks spin */
	COUNTED_BY_SOURCE = 1 << 16, /* a section that a source adds to jobs, not to cgroups: see
					sources/source.h */
};
#define COUNTED_ALL (~0U)
