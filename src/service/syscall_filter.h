/* SPDX-License-Identifier: MIT */
/*
 * syscall_filter - the system calls that a process of the agent, or the server, keeps after it
 * dropped its rights: an attacker in it has no others.
 *
 * The filter is a table. A row allows calls to some processes; a call without a row gets ENOSYS, so
 * that libraries fall back on an older one; a row without processes refuses it (EPERM). The kernel
 * logs each denied call (audit, type=1326).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;

enum filter_user {
	FILTER_NOBODY = 0,
	/* With the child that it asks for users' names, and senders that it starts again: these
	 * have both filters, so what a sender needs has to be the agent's, too. */
	FILTER_AGENT = 1 << 0,
	FILTER_HELPER = 1 << 1,
	FILTER_SENDER = 1 << 2,
	FILTER_SERVER = 1 << 3,
	FILTER_TRACER = 1 << 4, /* and each of its sessions */
	FILTER_ALL = FILTER_AGENT | FILTER_HELPER | FILTER_SENDER | FILTER_SERVER | FILTER_TRACER,
};

struct filter_row {
	const char *calls; /* one, or a family: names with a space between them */
	unsigned int users; /* of enum filter_user */
	const char *why;
	/* Only if that argument, masked, is this.  Rows of one call add up; if nothing is masked,
	 * it is given whole. */
	unsigned int argument;
	uint64_t mask, value;
};
const struct filter_row *syscall_filter_table(size_t *ret_count);

/* The name of a row's first call, or of the one behind @after; NULL: there are no more. @name: room
 * for it. */
#define FILTER_NAME_SIZE 32
const char *filter_row_next(const char *at, char name[FILTER_NAME_SIZE]);

/*
 * For good, for all threads of this process and all that it starts; after privileges_drop(), since
 * no_new_privs has to be set. -EOPNOTSUPP: this kernel has no such filters.
 */
int syscall_filter_apply(enum filter_user user, struct error *err);
