/* SPDX-License-Identifier: MIT */
#include "cli/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/inherited.h"
#include "load/held.h"
#include "basic/macro.h"

/* Signals that a user or a resource manager sends to a job.  Stop signals keep their default
 * action. */
static const int passed_on[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
				 SIGALRM, SIGCONT, SIGXCPU, SIGXFSZ, SIGWINCH };

#define SIGTERM_NS UINT64_C(30000000000) /* as Slurm waits before it kills */

static void watched_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGCHLD);
	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++)
		sigaddset(ret, passed_on[i]);
}

static int make_witness(struct child *c)
{
	pid_t parent = getpid();

	c->witness_pid = fork();
	if (c->witness_pid == 0) {
		sigset_t all;

		close(c->release_fd);
		close(c->signal_fd);
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	return c->witness_pid < 0 ? -errno : 0;
}

void child_begin(struct child *ret)
{
	sigset_t watched;

	*ret = (struct child){ .release_fd = -EBADF, .signal_fd = -EBADF };
	watched_signals(&watched);
	sigprocmask(SIG_BLOCK, &watched, &ret->mask);
}

int child_prepare(struct child *c, char *const argv[], struct error *err)
{
	struct held command;
	sigset_t watched;
	int r;

	r = held_fork(&command);
	if (r < 0)
		return error_set_errno(err, r, "cannot start a process");
	if (command.pid == 0) {
		int error_number;

		/* In the child, after the release.  Nothing here is counted, so that the numbers
		 * are the command's alone. */
		inherited_give_back();
		sigprocmask(SIG_SETMASK, &c->mask, NULL);
		execvp(argv[0], argv);
		error_number = errno;
		(void)send(command.fd, &error_number, sizeof(error_number), MSG_NOSIGNAL);
		_exit(error_number == ENOENT ? 127 : 126);
	}
	c->name = argv[0];
	c->pid = command.pid;
	c->release_fd = command.fd;
	watched_signals(&watched);
	c->signal_fd = signalfd(-1, &watched, SFD_CLOEXEC);
	if (c->signal_fd < 0)
		return error_set_errno(err, errno, "cannot watch for signals");
	r = make_witness(c);
	return r < 0 ? error_set_errno(err, r, "cannot watch for signals") : 0;
}

int child_release(struct child *c, struct error *err)
{
	struct timespec used;
	int error_number = 0;
	clockid_t clock;
	ssize_t n;

	if (clock_getcpuclockid(c->pid, &clock) == 0 && clock_gettime(clock, &used) == 0)
		c->overhead_ns += (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
	c->start_ns = clock_now_ns(CLOCK_REALTIME);
	c->start_boot_ns = clock_now_ns(CLOCK_BOOTTIME);
	if (held_release(&(struct held){ .pid = c->pid, .fd = c->release_fd }) < 0)
		return error_set_errno(err, errno, "cannot start the command");
	/* execve() closes the other end; if it fails, errno comes through it. */
	n = recv(c->release_fd, &error_number, sizeof(error_number), MSG_WAITALL);
	close(c->release_fd);
	c->release_fd = -EBADF;
	if (n == 0)
		return 0;
	waitpid(c->pid, &c->status, 0);
	c->pid = 0;
	return error_set_errno(err, n == sizeof(error_number) ? error_number : EIO,
			       "cannot run '%s'", c->name);
}

/* Is the signal also pending for the witness?  Then it was sent to the whole process group, and the
 * command has it already. */
static bool witness_has(pid_t witness, int number)
{
	char path[64], text[8192];
	const char *line;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/status", witness);
	r = file_read_small(-EBADF, path, text, sizeof(text));
	if (r < 0)
		return false;
	line = strstr(text, "\nShdPnd:");
	return line && strtoull(line + strlen("\nShdPnd:"), NULL, 16) >> (number - 1) & 1;
}

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_usec * 1000;
}

static void end_witness(struct child *c, pid_t witness)
{
	struct rusage usage;

	if (witness <= 0)
		return;
	kill(witness, SIGKILL);
	if (wait4(witness, NULL, 0, &usage) > 0)
		c->overhead_ns += timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime);
}

/*
 * Replace the witness: its pending signals cannot be cleared from outside.  A signal that is
 * pending for us and for the old witness, but not for the new one, was sent to the whole group
 * before the new one was forked.  The command received it, so it is dropped here.  A signal that
 * came twice while the old witness had it pending counts once, as pending signals do in the kernel.
 */
static void renew_witness(struct child *c)
{
	const struct timespec at_once = {};
	const pid_t old = c->witness_pid;
	sigset_t pending, one;

	if (make_witness(c) < 0)
		c->witness_pid = 0;
	sigemptyset(&pending);
	sigpending(&pending);
	for (size_t i = 0; i < ARRAY_SIZE(passed_on); i++) {
		const int number = passed_on[i];

		if (!sigismember(&pending, number) || !witness_has(old, number) ||
		    (c->witness_pid && witness_has(c->witness_pid, number)))
			continue;
		sigemptyset(&one);
		sigaddset(&one, number);
		(void)sigtimedwait(&one, NULL, &at_once);
	}
	end_witness(c, old);
}

static void pass_on(struct child *c, const struct signalfd_siginfo *info)
{
	const struct timespec moment = { .tv_nsec = 20000000 };
	int number = (int)info->ssi_signo;

	if (info->ssi_code > 0) /* sent by the terminal: the command received it, too */
		return;
	if (c->witness_pid && !witness_has(c->witness_pid, number))
		nanosleep(&moment, NULL); /* a sender may signal the processes of a group one by one
					   */
	if (c->witness_pid && witness_has(c->witness_pid, number)) {
		renew_witness(c);
		return;
	}
	if (c->pid)
		kill(c->pid, number);
}

/* Reap all children that ended.  Returns 1 if the command is among them, -ECHILD if no child is
 * left. */
static int reap(struct child *c)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid < 0)
			return -errno;
		if (pid == 0)
			return 0;
		if (pid == c->pid) {
			c->end_ns = clock_now_ns(CLOCK_REALTIME);
			c->end_boot_ns = clock_now_ns(CLOCK_BOOTTIME);
			c->ended_by_sigterm = c->sigterm_boot_ns &&
					      c->end_boot_ns - c->sigterm_boot_ns <= SIGTERM_NS;
			c->status = status;
			c->pid = 0;
			return 1;
		}
		c->other_end_ns = clock_now_ns(CLOCK_REALTIME);
		c->other_end_boot_ns = clock_now_ns(CLOCK_BOOTTIME);
	}
}

/* The next signal; 0 after @timeout_ms. */
static int wait_signal(struct child *c, int timeout_ms, struct signalfd_siginfo *ret)
{
	struct pollfd p = { .fd = c->signal_fd, .events = POLLIN };

	*ret = (struct signalfd_siginfo){};
	if (poll(&p, 1, timeout_ms) <= 0)
		return 0;
	return read(c->signal_fd, ret, sizeof(*ret)) == sizeof(*ret) ? (int)ret->ssi_signo : 0;
}

int child_wait(struct child *c, int timeout_ms, struct error *err)
{
	for (;;) {
		struct signalfd_siginfo info;
		int r = reap(c), number;

		if (r == 1)
			break;
		if (r < 0)
			return error_set_errno(err, r, "cannot wait for the command");
		number = wait_signal(c, timeout_ms, &info);
		if (number == SIGTERM)
			c->sigterm_boot_ns = clock_now_ns(CLOCK_BOOTTIME);
		if (number && number != SIGCHLD)
			pass_on(c, &info);
		if (timeout_ms >= 0)
			return 1;
	}
	end_witness(c, c->witness_pid);
	c->witness_pid = 0;
	return 0;
}

int child_wait_other(struct child *c, int timeout_ms)
{
	struct signalfd_siginfo info;

	switch (wait_signal(c, timeout_ms, &info)) {
	case SIGINT:
	case SIGTERM:
	case SIGHUP:
	case SIGQUIT:
		return -EINTR;
	default:
		return reap(c) == -ECHILD ? -ECHILD : 0;
	}
}

void child_extend(struct child *c, bool is_now)
{
	if (is_now) {
		c->end_ns = clock_now_ns(CLOCK_REALTIME);
		c->end_boot_ns = clock_now_ns(CLOCK_BOOTTIME);
	} else if (c->other_end_boot_ns > c->end_boot_ns) {
		c->end_ns = c->other_end_ns;
		c->end_boot_ns = c->other_end_boot_ns;
	}
}

int child_exit_code(const struct child *c)
{
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

void child_clear(struct child *c)
{
	if (c->release_fd >= 0)
		close(c->release_fd);
	if (c->pid > 0)
		waitpid(c->pid, NULL, 0);
	end_witness(c, c->witness_pid);
	if (c->signal_fd >= 0) {
		struct signalfd_siginfo info;

		while (wait_signal(c, 0, &info))
			;
		close(c->signal_fd);
	}
	*c = (struct child){ .release_fd = -EBADF, .signal_fd = -EBADF, .mask = c->mask };
}

void child_end(const struct child *c)
{
	sigprocmask(SIG_SETMASK, &c->mask, NULL);
}
