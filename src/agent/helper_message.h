/* SPDX-License-Identifier: MIT */
/* helper_message - what agent and helper say to each other: datagrams of fixed size, both of one
 * build. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HELPER_MAGIC UINT32_C(0x6a6d6870)
#define HELPER_VERSION 2
#define HELPER_NUMBER_MAX INT32_MAX

enum helper_kind {
	HELPER_HELLO, /* the helper's own, when it is ready, or why it is not */
	HELPER_MAKE,
	HELPER_REMOVE,
	HELPER_RELEASE, /* what a helper before this one made for NUMBER */
	HELPER_END, /* the agent ends in good order */
};

struct helper_request {
	uint32_t magic, version, kind;
	uint32_t sequence; /* comes back with the reply */
	int32_t pid;
	uint32_t uid;
	uint32_t number; /* of the run: its group is "jobmeter-run-NUMBER" */
	uint32_t key; /* MAKE: 1 + enum controller, in whose hierarchy on cgroup v1 its id is
			 wanted; 0: as that is found */
	uint64_t token; /* REMOVE: what MAKE gave */
};
_Static_assert(sizeof(struct helper_request) == 40, "no padding");

struct helper_reply {
	uint32_t magic, version, kind, sequence;
	int32_t result; /* 0 or -Exxx */
	uint32_t pad;
	uint64_t token, group_id;
	char text[216]; /* why not, in words */
};
_Static_assert(sizeof(struct helper_reply) == 256, "no padding");

/* The helper's whole life; returns when the agent has gone: whether in good order.  @fd and
 * @root_fd are its own. */
bool helper_serve(int fd, int root_fd);
