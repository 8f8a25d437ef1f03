/* SPDX-License-Identifier: MIT */
/*
 * child - the command that `run` meters: held back until it is in its cgroup, then run, with
 * signals passed on, then waited for.
 *
 * The command stays in our process group, so that the terminal is its own: what the terminal sends
 * reaches it without us.  Signals sent with kill() to us alone are passed on; a
 * witness, a process in the same group that holds all signals, shows which those are.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

struct child {
	pid_t pid;
	pid_t witness_pid;
	int release_fd; /* the command waits here, and says here if it cannot be executed */
	int signal_fd;
	sigset_t mask; /* as it was at child_begin(), and is for the command */
	const char *name; /* of the command, for errors; the caller's */
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME */
	uint64_t start_boot_ns, end_boot_ns; /* CLOCK_BOOTTIME */
	uint64_t other_end_ns, other_end_boot_ns; /* of the last that was reaped after it; 0: none
						   */
	uint64_t overhead_ns; /* CPU time that wait() has of children, and is not the command's */
	int status; /* as wait() has it, once it has ended */
	uint64_t sigterm_boot_ns; /* when it last got one, from us or with us; 0: never */
	bool ended_by_sigterm; /* soon after one, by whatever it made of it */
};

/* From here on, signals to us are held for child_wait(): so what is made for the command is not
 * left behind. */
void child_begin(struct child *ret);

/* Fork the command; it waits.  A signal that came since child_begin() is the first that it gets. */
int child_prepare(struct child *c, char *const argv[], struct error *err);

/* Let it run.  -ENOENT and the like: it could not be executed, and is gone; the text names it. */
int child_release(struct child *c, struct error *err);

/* Wait until it ends, up to @timeout_ms (-1: however long); other children that end meanwhile are
 * reaped. 1: it may still run: time is up, or a signal came. */
int child_wait(struct child *c, int timeout_ms, struct error *err);

/* After that: wait up to @timeout_ms for one of those that it left, and reap what ended.  0: time
 * is up or somebody ended; -ECHILD: the same, and we have no child; -EINTR: we were asked to end.
 */
int child_wait_other(struct child *c, int timeout_ms);

/* After that: what it left belongs to it.  Its end is now, or else that of the last one that was
 * reaped since. */
void child_extend(struct child *c, bool is_now);

/* Exit code as a shell would have it: 128 + n for signal n. */
int child_exit_code(const struct child *c);

/* Ends what was not released. */
void child_clear(struct child *c);

/* Takes the signal mask back, when nothing is left that a signal could leave behind. */
void child_end(const struct child *c);
