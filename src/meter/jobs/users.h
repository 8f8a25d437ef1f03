/* SPDX-License-Identifier: MIT */
/*
 * users - the names of uids, without ever waiting for them.
 *
 * A name may come from far away (LDAP, sssd), and whoever asks may hang.  So a child process asks:
 * one at a time, for a batch of uids, with a time limit, without rights and without the caller's
 * descriptors.  Answers are kept for a while, in a cache of a fixed size.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;
struct users;

#define USERS_NAME_MAX 256 /* with the NUL */
#define USERS_KEPT 2048 /* uids; who was asked for least lately makes room */

/* Run in the child.  0: *name is set; -ENOENT: that uid has none; other errors: ask again later. */
typedef int (*users_lookup)(uint32_t uid, char name[USERS_NAME_MAX]);

struct users_options {
	users_lookup lookup; /* NULL: getpwuid_r(3) */
	uint64_t timeout_ns; /* for one batch; 0: 10 s */
};

struct users *users_new(const struct users_options *options); /* NULL: no memory */
/* Ends the child, if there is one. */
struct users *users_free(struct users *u); /* NULL is fine; returns NULL */
void users_freep(struct users **u);

/*
 * What is known now; never blocks.  0: *ret is the name, which holds until the next call of any
 * function here; -EAGAIN: not known yet, and asked for; -ENOENT: it has none.  An answer is good
 * for an hour (no name, or no answer: a minute), and is given also while it is asked for anew.
 * @now_ns: of any clock that does not go back.
 */
int users_find(struct users *u, uint32_t uid, uint64_t now_ns, const char **ret);

/* Take what the child has said, end it when it is late, start the next one.  Never blocks: to be
 * called now and then, at once when users_fd() is readable. */
void users_work(struct users *u, uint64_t now_ns);

/* Changes with each child; -EBADF: none runs. */
int users_fd(const struct users *u);

struct users_state {
	uint64_t children; /* started so far */
	uint64_t late; /* of these: ended by us */
	size_t waiting; /* uids that are asked for */
};
void users_get_state(const struct users *u, struct users_state *ret);
