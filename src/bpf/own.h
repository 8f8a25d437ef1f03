/* SPDX-License-Identifier: MIT */
/* own - what our programs cost, as the kernel side and user space share it. */
#pragma once

#include <linux/types.h>

enum own_program {
	OWN_ENTER, /* of each system call, also outside watched groups: so it is the number of all
		      calls */
	OWN_LEAVE, /* of those that are looked at */
	OWN_SWITCH, /* of tasks on a CPU */
	OWN_SUBMIT, /* of requests to block devices */
	OWN_END, /* of those requests */
	OWN_NAME_ENTER, /* of system calls counted by name, if groups are counted separately */
	OWN_NAME_LEAVE,
	OWN_COUNT,
};

/* Of one program on one CPU. */
struct own_cost {
	__u64 runs;
	__u64 timed, timed_ns; /* one run in OWN_TIMED_EVERY; the clock's own time is in it */
	__u64 started_ns; /* start of the timed run in progress; 0: none */
};
#define OWN_TIMED_EVERY 1024

_Static_assert(sizeof(struct own_cost) == 32, "shared with the kernel side");
