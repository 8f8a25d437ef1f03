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

#include <stdint.h>
#include <sys/types.h>

struct error;
struct helper;
struct hierarchy;

#define HELPER_GROUPS_MAX 1024 /* at once */
#define HELPER_GROUPS_OF_USER 256 /* of one user but root: a rank on each CPU */

struct helper_leftovers {
	const char *dir; /* if it is empty; NULL: none */
	const char *socket; /* if nobody listens on it any more; NULL: none */
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

/* In which hierarchy jobs are told apart, and so the ids of groups are wanted from now on: on v1 a
 * setting may say. */
void helper_set_key(struct helper *h, const struct hierarchy *hierarchy);

struct helper_group {
	uint64_t token; /* for its removal */
	uint64_t id; /* by which the kernel side knows it */
};

/*
 * Make the group "jobmeter-run-NUMBER" for process @pid, which must be @uid's and nobody else's,
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
