/* SPDX-License-Identifier: MIT */
/*
 * measure - run one command and measure it from its first instruction to its end.
 *
 * With the rights for it: in a cgroup of its own, by BPF.  Without: what the kernel grants a user.
 * In either case sources[] (sources/sources.c) are walked for the command's process, and the record
 * says what was not seen.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "model/record.h"

struct client;
struct error;

struct measure_options {
	const char *root; /* below which proc and sys are read: "/" */
	bool is_patient; /* wait for processes that outlive the command */
	unsigned int followed_max; /* files to follow one by one; 0: none */
	bool names_syscalls; /* count system calls by name */
	unsigned int tiers; /* of enum meter_tier, by BPF; 0: without it */
	const char *traced; /* sets of functions that are traced, with commas between; NULL: none */
	struct client *agent; /* it measures; NULL: we do */
	sigset_t *mask; /* not NULL: on success signals that end us stay held, until the caller sets
			   this mask, which was ours */
	const struct map_size *map_sizes; /* for tests: see meter_options; may be NULL */
	const struct hardware_events *hardware; /* for tests: what to count; NULL: what the
						   processor has */
};

/*
 * Run @argv.  On 0, *ret is the record, and *ret_code the command's exit code as a shell would have
 * it. -ENOENT and other errors: it could not be run; nothing is left behind, *ret_code is 126 or
 * 127, or where the failure is ours 1, -1 if the command had not begun, and @err says which.
 */
int measure_command(const struct measure_options *options, char *const argv[], struct record **ret,
		    int *ret_code, struct error *err);
