/* SPDX-License-Identifier: MIT */
/*
 * helper - a small process that stays root and does the one thing that the agent may not: it makes
 * the cgroup of a user's `jobmeter run`, below the group in which the user's process is, and puts
 * that process in.
 *
 * It takes numbers only, never a path: the place is where the kernel says that the process is, and
 * the process must be the user's.  It ends with the agent, also with one that is killed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct helper;
struct hierarchy;

#define HELPER_GROUPS_MAX 1024 /* at once */
#define HELPER_GROUPS_OF_USER 256 /* of one user but root: a rank on each CPU */

struct helper_leftovers {
	const char *dir; /* if it is empty; NULL: none */
	const char *socket; /* if it has no listener any more; NULL: none */
};

/* Fork it, as root and before rights are given up; it closes whatever else the caller has open but
 * the standard error.  @root_fd: a directory that holds proc and sys.  @leftovers: what
 * helper_stop() removes, since the agent may not (NULL: nothing), and an agent that was killed
 * keeps. */
int helper_start(int root_fd, const struct helper_leftovers *leftovers, struct helper **ret,
		 struct error *err);
/* It removes its groups that are empty, and ends.  NULL is fine; returns NULL. */
struct helper *helper_stop(struct helper *h);
void helper_stopp(struct helper **h);

/* The hierarchy that identifies jobs, of which ids of groups are wanted from now on: on v1 a
 * setting may name it. */
void helper_set_key(struct helper *h, const struct hierarchy *hierarchy);

struct helper_group {
	uint64_t token; /* for its removal */
	uint64_t id; /* by which the kernel side knows it */
};

/*
 * Make the group "jobmeter-run-NUMBER" for process @pid, which must be @uid's alone,
 * and put it in. Waits for a second at most; what comes later is removed again. -EPERM: the process
 * is another's; -ESRCH: it is gone; -EEXIST: such a group is there; -EDQUOT: the user has enough of
 * them; -ETIMEDOUT; -EPIPE: the helper is gone.
 */
int helper_make_group(struct helper *h, pid_t pid, uid_t uid, unsigned int number,
		      struct helper_group *ret, struct error *err);

/* Remove it, as soon as that can be; what lives in it goes back to the group above.  Waits for
 * nothing. */
int helper_remove_group(struct helper *h, uint64_t token, struct error *err);

/* The same of the group that a helper before this one made under that number, though its client
 * lives; what lives in it stays there, and so does the group until then. */
int helper_release_group(struct helper *h, unsigned int number, struct error *err);

int helper_fd(const struct helper *h); /* for poll(2): call helper_run() when it is readable */
/* -EPIPE: the helper is gone. */
int helper_run(struct helper *h);

pid_t helper_pid(const struct helper *h);

/* helper_message - what agent and helper say to each other: datagrams of fixed size, both of one
 * build. */

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
