/* SPDX-License-Identifier: MIT */
/*
 * push - what of the node's jobs goes to the site's server: a checkpoint of each live job once in
 * an interval, at a moment of its own within it, and a final record of each that has ended.
 *
 * It writes to the spool and starts the sender (docs/sites/pushing.md).  Failures are logged
 * and tried again, and block nothing else.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "spool/sender.h"
#include "spool/spool.h"

struct config;
struct error;
struct push;
struct sampler;
struct service_user;

/* As root, for the directory below @state_dir; the spool and its sender are there only where a
 * server is set.  What fails there is said, and nothing is sent.  @user and @config outlive it.
 * -ENOMEM. */
int push_open(const char *state_dir, const struct service_user *user, const struct config *config,
	      struct push **ret, struct error *err);
struct push *push_close(struct push *p); /* ends the sender; NULL is fine; returns NULL */

/* Whose jobs they are; outlives it. */
void push_set_sampler(struct push *p, struct sampler *sampler);
/* The settings are others; these, too, outlive it or the next call. */
void push_apply(struct push *p, const struct config *config);

int push_fd(const struct push *p); /* for poll(2); -EBADF: there is none */
int push_timeout_ms(const struct push *p); /* until push_work(); -1: nothing is due */
/* What is due: some records at a time, so that other work is not delayed. */
void push_work(struct push *p);
/* The last reading was taken: what has ended by then. */
void push_finish(struct push *p);

struct push_status {
	bool is_on; /* a server is set */
	const char *server; /* its URL, as long as the settings hold */
	uint64_t max_bytes;
	struct spool_counts spool;
	struct sender_status sender;
	uint64_t starts; /* of the sender */
};
void push_get_status(const struct push *p, struct push_status *ret);

/* Within an interval, when the checkpoints of a job are due: did that moment come between the two?
 */
bool push_is_due(const struct spool_key *key, uint64_t interval_ns, uint64_t after_ns,
		 uint64_t until_ns);
