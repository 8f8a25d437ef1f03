/* SPDX-License-Identifier: MIT */
#include "selftest/syscall_selftest.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "basic/macro.h"
#include "model/sections/syscalls.h"
#include "selftest/verdict.h"

#define NAP_NS 1000000
#define ASKED 3 /* times for the parent's id, which nothing else in the self-test asks for */
#define REFUSED 2

static void do_nothing(int number UNUSED)
{
}

/* A signal ends it with EINTR; should it come too early, the next one does. */
static void be_interrupted(void)
{
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = {};
	struct sigaction action = { .sa_handler = do_nothing };
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigaction(SIGALRM, &action, NULL);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	(void)syscall(SYS_ppoll, NULL, 0, NULL, NULL, 8);
	setitimer(ITIMER_REAL, &never, NULL);
}

void syscall_selftest_run(void)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	for (int i = 0; i < ASKED; i++)
		(void)syscall(SYS_getppid);
	for (int i = 0; i < REFUSED; i++)
		(void)syscall(SYS_getpgid, -1);
	(void)syscall(SYS_nanosleep, &nap, NULL);
	be_interrupted();
}

/* @least_ns: 0: any. */
static void judge(const struct syscalls *s, const char *program, const char *call, uint64_t calls,
		  uint64_t errors, uint64_t least_ns, struct verdict *v)
{
	const struct syscall_row *row = syscalls_find(s, call);
	uint64_t was = row ? syscall_number(row, METRIC_SYSCALL_CALLS).number : 0;
	uint64_t failed = row ? syscall_number(row, METRIC_SYSCALL_ERRORS).number : 0;
	uint64_t ns = row ? syscall_number(row, METRIC_SYSCALL_SECONDS).number : 0;
	struct judged *judged;

	if (v->count == VERDICT_MAX)
		return;
	judged = &v->items[v->count++];
	*judged = (struct judged){ .program = program };
	if (was != calls || failed != errors)
		snprintf(judged->why, sizeof(judged->why),
			 "of %" PRIu64 " calls of %s, %" PRIu64 " failed, it saw %" PRIu64
			 " and %" PRIu64,
			 calls, call, errors, was, failed);
	else if (ns < least_ns)
		snprintf(judged->why, sizeof(judged->why),
			 "%s took %" PRIu64 " ns at least, and %" PRIu64 " by it", call, least_ns,
			 ns);
}

void syscall_selftest_judge(const struct syscalls *counted, struct verdict *v)
{
	judge(counted, "enter_syscall", "getppid", ASKED, 0, 0, v);
	judge(counted, "leave_syscall", "getpgid", REFUSED, REFUSED, 0, v);
	judge(counted, "park_syscall", "nanosleep", 1, 0, NAP_NS, v);
	judge(counted, "end_syscall", "exit_group", 1, 0, 0, v);
	judge(counted, "settle_syscall", "ppoll", 1, 1, 0, v);
}
