/* SPDX-License-Identifier: MIT */
/*
 * sender_process - the process that sends records to the site's server (spool/sender.h): it has the
 * network, the spool and nothing else, neither a capability nor a descriptor of the agent's.
 *
 * It is started again when it ends, and when the token is another; it ends with the agent, also
 * with one that is killed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "basic/error.h"
#include "service/token.h"
#include "spool/sender.h"

struct config;
struct service_user;

struct sender_process { /* begins as { .fd = -EBADF } and with these, which outlive it */
	const char *spool; /* its directory */
	const struct config *config; /* which may be replaced */
	const struct service_user *user; /* who it is if we are root */

	int fd; /* for poll(2); -EBADF: there is none, */
	pid_t pid; /* 0 */
	uint64_t starts, start_ns; /* start_ns: when it may be started */
	uint64_t token_ns; /* when the token is to be read again */
	char token[TOKEN_SIZE];
	struct error token_error; /* why there is none */
	struct sender_status status; /* its last report */
	uint64_t told_refused;
	bool was_told; /* that it fails, with... */
	uint64_t told_http_status;
};

/* When sender_process_work() is to be called at the latest, by CLOCK_BOOTTIME. */
uint64_t sender_process_due_ns(const struct sender_process *p);
/* Hear it, start it, read its token again; what should be said goes to the log, once. */
void sender_process_work(struct sender_process *p, uint64_t now_ns);
/* There is something new in the spool. */
void sender_process_wake(struct sender_process *p);
/* At once, whatever is being sent.  Its status as it ended, or -1. */
int sender_process_end(struct sender_process *p);
