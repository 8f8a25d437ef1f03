/* SPDX-License-Identifier: MIT */
/*
 * sender_process - the process that sends records to the site's server (spool/sender.h): it has the
 * network, the spool and nothing else, neither a capability nor a descriptor of the agent's.
 *
 * It is started again when it ends, and ends with the agent, also with one that is killed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "spool/sender.h"

struct error;
struct sender_process;
struct service_user;

struct sender_process_options { /* texts are copied */
	const char *spool; /* its directory */
	const char *url, *ca, *token_file; /* as the settings have them */
	const struct service_user *user; /* who it is if we are root; outlives it */
};

/* -Exxx: it cannot be; a process that ends at once is no error, and is tried again. */
int sender_process_start(const struct sender_process_options *options, struct sender_process **ret,
			 struct error *err);
/* At once, whatever is being sent.  NULL is fine; returns NULL. */
struct sender_process *sender_process_stop(struct sender_process *p);

/* There is something new in the spool. */
void sender_process_wake(struct sender_process *p);

int sender_process_fd(const struct sender_process *p); /* for poll(2); -EBADF: it is to be started
							*/
/* When sender_process_work() is to be called at the latest, by CLOCK_BOOTTIME; UINT64_MAX: never.
 */
uint64_t sender_process_due_ns(const struct sender_process *p);
/* Hear it, start it again, read its token again. */
void sender_process_work(struct sender_process *p, uint64_t now_ns);

/* Counters go on over senders. */
void sender_process_get_status(const struct sender_process *p, struct sender_status *ret);
uint64_t sender_process_starts(const struct sender_process *p);
/* What should be said once, in a line; *ret_is_well: it is no warning. */
bool sender_process_has_news(struct sender_process *p, bool *ret_is_well, struct error *err);
