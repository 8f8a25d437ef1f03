/* SPDX-License-Identifier: MIT */
/*
 * privileges - drops the rights of a process for good, except a few, each with its reason.
 *
 * docs/sites/security.md has the same table in words.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

/* Features that need rights. */
enum privilege_feature {
	PRIVILEGE_BPF = 1 << 0, /* programs and maps are in the kernel */
	PRIVILEGE_PROCESSES = 1 << 1, /* others' processes in /proc */
	PRIVILEGE_SENSORS = 1 << 2, /* files of mode 0400 below sys, and tracefs */
	PRIVILEGE_HELPER = 1 << 3, /* groups made for others: the helper's own process only */
	PRIVILEGE_COUNTERS = 1 << 4, /* the processor's own, of others' groups */
	PRIVILEGE_HIDDEN = 1 << 5, /* others' processes where proc has hidepid: else they can be
				      seen */
	PRIVILEGE_TRACING = 1 << 6, /* functions of users' processes: the process that traces only
				     */
	PRIVILEGE_AGENT = PRIVILEGE_BPF | PRIVILEGE_PROCESSES | PRIVILEGE_SENSORS,
};

struct privilege {
	unsigned int capability; /* CAP_BPF... */
	const char *name; /* "BPF" */
	unsigned int features; /* any of these wants it */
	const char *why;
};
const struct privilege *privileges_table(size_t *ret_count);

/* Capabilities, a bit each, that @features want. */
uint64_t privileges_wanted(unsigned int features);

struct service_user {
	bool is_known; /* else we stay who we are */
	char name[64];
	uid_t uid;
	gid_t gid;
};

/* -ENOENT: there is no such user; *err says what to do. */
int service_user_find(const char *name, struct service_user *ret, struct error *err);

struct privileges_options {
	unsigned int features; /* of enum privilege_feature */
	const struct service_user *user; /* the user to become; NULL, or not root: stay */
	bool is_dumpable; /* may be traced and dumped by the same user; else by root alone */
};

/*
 * Give up everything else, for this process and all that it starts: groups, user, capabilities
 * (also what a later exec could bring), new privileges.  Read back afterwards; an error means that
 * something did not hold, and then the process must end.  Of one thread only. *ret_missing (may be
 * NULL): of what was wanted, capabilities that were not there to keep: what needs them will fail.
 */
int privileges_drop(const struct privileges_options *options, uint64_t *ret_missing,
		    struct error *err);

/* For a forked process: close all descriptors but the first three and these two, and ignore all
 * signals that would end it but the death of its parent. */
void privileges_close_others(int a, int b);
void privileges_ignore_signals(void);

/* As many descriptors as the hard limit permits. */
void privileges_raise_descriptors(void);

/* "BPF, PERFMON" into @text; "" for none. */
char *privileges_format(uint64_t capabilities, char *text, size_t size);
