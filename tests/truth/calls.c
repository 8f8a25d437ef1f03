/* SPDX-License-Identifier: MIT */
/*
 * calls [--plain] - makes system calls in prime numbers, and says on its standard output how many:
 * one line "NAME CALLS ERRORS NS" for each name of which it knows all that it made.  NS: what these
 * took at least.
 *
 * What a C library makes of its own is of other names.  --plain: without numbers that no kernel
 * has, 32-bit calls, calls that a filter refuses or that signals interrupt, one in which a process
 * is killed, and one that goes on after its process was stopped.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 7
#define NAP_NS 3000000
#define REFUSED 23

static void check(int is_well, const char *what)
{
	if (is_well)
		return;
	fprintf(stderr, "calls: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static struct said {
	const char *name;
	unsigned long calls, errors, ns;
} said[64];

/* Several parts may make calls of one name. */
static void say(const char *name, unsigned long calls, unsigned long errors, unsigned long ns)
{
	struct said *s = said;

	while (s->name && strcmp(s->name, name) != 0)
		s++;
	*s = (struct said){ name, s->calls + calls, s->errors + errors, s->ns + ns };
}

static void say_all(void)
{
	for (const struct said *s = said; s->name; s++)
		printf("%s %lu %lu %lu\n", s->name, s->calls, s->errors, s->ns);
}

static void repeat(unsigned long times, long number, long first)
{
	for (unsigned long i = 0; i < times; i++)
		(void)syscall(number, first, 0, 0, 0, 0);
}

/* Plain ones, of which some fail. */
static void plain(void)
{
	repeat(1009, SYS_getppid, 0);
	repeat(503, SYS_getpgid, 0);
	repeat(211, SYS_getpgid, -1); /* ESRCH */
	repeat(307, SYS_fchdir, -1); /* EBADF */
	say("getppid", 1009, 0, 0);
	say("getpgid", 503 + 211, 211, 0);
	say("fchdir", 307, 307, 0);
}

/* Numbers that no kernel has: ENOSYS. */
static void odd(void)
{
	repeat(13, 399, 0);
	repeat(17, -1, 0);
	repeat(19, 1 << 20, 0);
	say("syscall_399", 13, 13, 0);
	say("(other)", 17 + 19, 17 + 19, 0);
}

/* ---- threads ---- */

static void *work(void *unused)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	for (int i = 0; i < 11; i++)
		check(syscall(SYS_nanosleep, &nap, NULL) == 0, "nanosleep");
	repeat(101, SYS_sched_get_priority_max, SCHED_OTHER);
	repeat(31, SYS_sched_get_priority_max, -1); /* EINVAL */
	return unused; /* by exit */
}

static void threads(void)
{
	pthread_t made[THREADS];

	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&made[i], NULL, work, NULL) == 0, "pthread_create");
	for (int i = 0; i < THREADS; i++)
		check(pthread_join(made[i], NULL) == 0, "pthread_join");
	say("nanosleep", THREADS * 11, 0, THREADS * 11UL * NAP_NS);
	say("sched_get_priority_max", THREADS * (101 + 31), THREADS * 31, 0);
	say("exit", THREADS, 0, 0);
}

/* ---- processes ---- */

/* By vfork and execve of ourselves, which then ends at once; of each pair of execve one fails. */
static pid_t begin_other(void)
{
	static char self[] = "/proc/self/exe", end[] = "--end";
	static char *const argv[] = { self, end, NULL }, *const none[] = { NULL };
	pid_t pid = vfork();

	if (pid == 0) {
		execve("/nonexistent", argv, none);
		execve(self, argv, none);
		_exit(1);
	}
	return pid;
}

static void processes(void)
{
	for (int i = 0; i < 5; i++) {
		pid_t pid = begin_other();
		int status;

		check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "vfork");
	}
	for (int i = 0; i < 3; i++) {
		long pid = syscall(SYS_fork);
		int status;

		if (pid == 0)
			_exit(0);
		check(pid > 0 && waitpid((pid_t)pid, &status, 0) == pid && status == 0, "fork");
	}
	say("vfork", 5, 0, 0);
	say("fork", 3, 0, 0);
	say("execve", 1 + 10, 5, 0); /* our own beginning too */
	say("exit_group", 5 + 3 + 1, 0, 0); /* and our own end */
	say("wait4", 8, 0, 0);
}

/* ---- 32-bit calls ---- */

#if defined(__x86_64__)
static long call_32(long number, long first)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "0"(number), "b"(first)
			 : "memory", "r8", "r9", "r10", "r11");
	return result;
}

static sigjmp_buf without_compat;

static void leave_compat(int signal)
{
	siglongjmp(without_compat, signal);
}

/* Kernels and virtual machines may have none: the first one ends the process. */
static long first_call_32(long number)
{
	const struct sigaction leave = { .sa_handler = leave_compat };
	struct sigaction before;
	long result = -1;

	sigaction(SIGSEGV, &leave, &before);
	if (sigsetjmp(without_compat, 1) == 0)
		result = call_32(number, 0);
	sigaction(SIGSEGV, &before, NULL);
	return result;
}

static void compat(void)
{
	long pid = first_call_32(20); /* getpid */

	if (pid != getpid()) {
		fputs("calls: no 32-bit calls here\n", stderr);
		return;
	}
	for (int i = 1; i < 19; i++)
		(void)call_32(20, 0);
	for (int i = 0; i < 7; i++)
		(void)call_32(132, -1); /* getpgid: ESRCH */
	say("getpid (i386)", 19, 0, 0);
	say("getpgid (i386)", 7, 7, 0);
}
#else
static void compat(void)
{
}
#endif

/* ---- a filter ---- */

/* getuid, refused before it is begun. */
static void refused(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getuid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	repeat(7, SYS_getuid, 0);
	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "prctl");
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "prctl");
	repeat(REFUSED, SYS_getuid, 0);
	say("getuid", 7 + REFUSED, REFUSED, 0);
}

/* ---- signals ---- */

static void do_nothing(int number)
{
	(void)number;
}

static void set_handler(int flags)
{
	struct sigaction action = { .sa_handler = do_nothing, .sa_flags = flags };

	check(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
}

static void ring_in(long us)
{
	const struct itimerval once = { .it_value = { .tv_usec = us } };

	check(setitimer(ITIMER_REAL, &once, NULL) == 0, "setitimer");
}

/* In a child that it stops and lets go on a nap goes on, too. */
static void stopped_nap(void)
{
	const struct timespec nap = { .tv_nsec = 300000000 }, moment = { .tv_nsec = 50000000 };
	long pid = syscall(SYS_fork);
	int status;

	if (pid == 0) {
		check(syscall(SYS_clock_nanosleep, CLOCK_BOOTTIME, 0, &nap, NULL) == 0,
		      "clock_nanosleep");
		_exit(0);
	}
	check(pid > 0, "fork");
	syscall(SYS_nanosleep, &moment, NULL);
	kill((pid_t)pid, SIGSTOP);
	check(waitpid((pid_t)pid, &status, WUNTRACED) == pid && WIFSTOPPED(status), "waitpid");
	kill((pid_t)pid, SIGCONT);
	check(waitpid((pid_t)pid, &status, 0) == pid && status == 0, "waitpid");
	say("fork", 1, 0, 0);
	say("wait4", 2, 0, 0);
	say("nanosleep", 1, 0, 50000000);
	say("exit_group", 1, 0, 0);
	say("clock_nanosleep", 1, 0, 200000000); /* less the time in which it was stopped */
	say("restart_syscall", 0, 0, 0); /* which the kernel makes of it */
}

/* One killed in a call: the call ends with it. */
static void killed_nap(void)
{
	const struct timespec moment = { .tv_nsec = 50000000 };
	long pid = syscall(SYS_fork);
	int status;

	if (pid == 0) {
		for (;;)
			syscall(SYS_rt_sigsuspend, &(uint64_t){ 0 }, 8);
	}
	check(pid > 0, "fork");
	syscall(SYS_nanosleep, &moment, NULL);
	kill((pid_t)pid, SIGKILL);
	check(waitpid((pid_t)pid, &status, 0) == pid && WIFSIGNALED(status), "waitpid");
	say("fork", 1, 0, 0);
	say("wait4", 1, 0, 0);
	say("nanosleep", 1, 0, 50000000);
	say("rt_sigsuspend", 1, 0, 0);
}

/* Reads of an empty pipe: given up, and begun anew by the kernel until the writer's end closes. */
static void signals(void)
{
	const struct timespec nap = { .tv_nsec = 400000000 };
	int ends[2];
	char byte;
	long pid;

	set_handler(0);
	for (int i = 0; i < 3; i++) {
		ring_in(20000);
		check(syscall(SYS_pause) == -1 && errno == EINTR, "pause");
	}
	say("pause", 3, 3, 0);
	check(pipe(ends) == 0, "pipe");
	for (int i = 0; i < 2; i++) {
		ring_in(20000);
		check(syscall(SYS_pread64, ends[0], &byte, 1, 0) == -1 && errno == ESPIPE,
		      "pread64");
		check(syscall(SYS_readv, ends[0], &(struct {
				      void *at;
				      size_t n;
			      }){ &byte, 1 },
			      1) == -1 &&
			      errno == EINTR,
		      "readv");
	}
	set_handler(SA_RESTART);
	pid = syscall(SYS_fork);
	if (pid == 0) { /* keeps the pipe open for a while */
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, NULL);
		_exit(0);
	}
	check(pid > 0, "fork");
	close(ends[1]);
	ring_in(50000);
	check(syscall(SYS_readv, ends[0], &(struct {
			      void *at;
			      size_t n;
		      }){ &byte, 1 },
		      1) == 0,
	      "readv");
	check(waitpid((pid_t)pid, NULL, 0) == pid, "waitpid");
	close(ends[0]);
	say("fork", 1, 0, 0);
	say("wait4", 1, 0, 0);
	say("exit_group", 1, 0, 0);
	say("clock_nanosleep", 1, 0, 400000000);
	say("pread64", 2, 2, 0);
	say("readv", 3, 2, 2 * 15000000);
	say("rt_sigreturn", 3 + 2 + 1, 0, 0);
	killed_nap();
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--end") == 0)
		return 0;
	setvbuf(stdout, NULL, _IOFBF, 65536); /* one write, at the end */
	plain();
	threads();
	processes();
	if (argc == 1) {
		odd();
		compat();
		signals();
		stopped_nap();
		refused(); /* what it sets up stays */
	}
	say_all();
	return 0;
}
