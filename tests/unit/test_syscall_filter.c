/* SPDX-License-Identifier: MIT */
#include "service/syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "test.h"

/* The exit status of a process that did @act. */
static int ended(int (*act)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(act());
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static enum filter_user confined_user;
static int (*confined_act)(void);

static int confine_and_act(void)
{
	struct error err = {};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall_filter_apply(confined_user, &err) < 0 ? 99 : confined_act();
}

static int confined(enum filter_user user, int (*act)(void))
{
	confined_user = user;
	confined_act = act;
	return ended(confine_and_act);
}

#define REFUSED(error, name, ...)         \
	{                                 \
#name, error, SYS_##name, \
		{                         \
			__VA_ARGS__       \
		}                         \
	}
static const struct {
	const char *name;
	int error;
	long call, arguments[5];
} refused[] = {
	REFUSED(EPERM, ptrace, PTRACE_SEIZE, 1),
	REFUSED(EPERM, process_vm_readv, 1),
	REFUSED(EPERM, process_vm_writev, 1),
	REFUSED(EPERM, pidfd_getfd, -1),
	REFUSED(EPERM, execve, (long)"/bin/true"),
	REFUSED(EPERM, execveat, AT_FDCWD, (long)"/bin/true"),
	REFUSED(EPERM, mount, (long)"none", (long)"/", (long)"tmpfs", MS_REMOUNT),
	REFUSED(EPERM, unshare, 0),
	REFUSED(EPERM, setns, -1),
	REFUSED(EPERM, finit_module, -1),
	REFUSED(EPERM, kexec_load),
	REFUSED(EPERM, open_by_handle_at, -1),
	REFUSED(EPERM, io_uring_setup, 1),
	REFUSED(EPERM, setresuid, -1, -1, -1),
	REFUSED(ENOSYS, clone, CLONE_NEWUSER | SIGCHLD),
	REFUSED(ENOSYS, clone3), /* libraries fall back on clone() */
	REFUSED(ENOSYS, bpf, BPF_PROG_LOAD),
	REFUSED(ENOSYS, bpf, BPF_MAP_GET_FD_BY_ID),
	REFUSED(ENOSYS, socket, AF_PACKET, SOCK_RAW),
	REFUSED(ENOSYS, socket, AF_NETLINK, SOCK_RAW),
	REFUSED(ENOSYS, ioctl, 0, TIOCSTI),
	REFUSED(ENOSYS, mmap, 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1),
	REFUSED(ENOSYS, mprotect, 0, 0, PROT_EXEC),
	REFUSED(ENOSYS, seccomp, -1),
};

static int try_what_is_refused(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		const long *a = refused[i].arguments;

		errno = 0;
		if (syscall(refused[i].call, a[0], a[1], a[2], a[3], a[4], 0) == -1 &&
		    errno == refused[i].error)
			continue;
		dprintf(1, "  %s: %s\n", refused[i].name, strerror(errno));
		return 1;
	}
	return 0;
}

TEST(what_takes_others_over_is_refused)
{
	ASSERT_EQ(confined(FILTER_AGENT, try_what_is_refused), 0);
	ASSERT_EQ(confined(FILTER_HELPER, try_what_is_refused), 0);
	ASSERT_EQ(confined(FILTER_SENDER, try_what_is_refused), 0);
	ASSERT_EQ(confined(FILTER_SERVER, try_what_is_refused), 0);
}

static int work(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	char byte = 0;
	void *memory;

	if (fd < 0 || read(fd, &byte, 1) != 0 || write(fd, &byte, 1) != 1 || close(fd) < 0)
		return 1;
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED || munmap(memory, 4096) < 0 || kill(getppid(), 0) < 0 ? 2 : 0;
}

TEST(work_goes_on)
{
	ASSERT_EQ(confined(FILTER_AGENT, work), 0);
	ASSERT_EQ(confined(FILTER_HELPER, work), 0);
}

static int start_a_child(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 && errno == EPERM ? 7 : 8);
	if (pid < 0)
		return errno == ENOSYS ? 1 : 2;
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

static void *do_nothing(void *of)
{
	return of;
}

/* A thread, sockets, files of the spool; no child, and no signal. */
static int do_as_a_sender(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), ends[2];
	pthread_t thread;

	if (fd < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return 1;
	if (pthread_create(&thread, NULL, do_nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
		return 2;
	if (rename("/nonexistent/a", "/nonexistent/b") == 0 || errno != ENOENT)
		return 3;
	if (fork() >= 0 || errno != ENOSYS)
		return 4;
	return kill(getppid(), 0) == 0 || errno != ENOSYS ? 5 : 0;
}

TEST(a_sender_has_the_network_and_neither_children_nor_signals)
{
	ASSERT_EQ(confined(FILTER_SENDER, do_as_a_sender), 0);
}

/* The network and the database's files; neither a thread nor a child nor a signal. */
static int do_as_a_server(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || epoll_create1(EPOLL_CLOEXEC) < 0)
		return 1;
	if (accept4(fd, NULL, NULL, 0) >= 0 || errno != EINVAL)
		return 2;
	if (fsync(-1) >= 0 || errno != EBADF)
		return 3;
	if (fork() >= 0 || errno != ENOSYS)
		return 4;
	if (rename("/nonexistent/a", "/nonexistent/b") == 0 || errno != ENOSYS)
		return 5;
	return kill(getppid(), 0) == 0 || errno != ENOSYS ? 6 : 0;
}

TEST(a_server_has_the_network_and_its_files_and_neither_children_nor_signals)
{
	ASSERT_EQ(confined(FILTER_SERVER, do_as_a_server), 0);
}

static int be_confined_twice(void)
{
	struct error err = {};

	return syscall_filter_apply(FILTER_SENDER, &err) < 0 ? 6 : do_as_a_sender();
}

TEST(a_sender_that_the_agent_starts_again_has_both_filters_and_what_it_needs)
{
	ASSERT_EQ(confined(FILTER_AGENT, be_confined_twice), 0);
}

TEST(only_the_agent_has_a_child_which_is_confined_too)
{
	ASSERT_EQ(confined(FILTER_AGENT, start_a_child), 7);
	ASSERT_EQ(confined(FILTER_HELPER, start_a_child), 1);
}

static int send_a_signal(void)
{
	return kill(getppid(), SIGCONT) < 0 && errno == ENOSYS ? 1 : 0;
}

TEST(the_helper_sends_no_signals)
{
	ASSERT_EQ(confined(FILTER_HELPER, send_a_signal), 1);
	ASSERT_EQ(confined(FILTER_AGENT, send_a_signal), 0);
}

static void *wait_and_trace(void *pipe_fd)
{
	char byte;

	if (read(*(int *)pipe_fd, &byte, 1) != 1)
		return NULL;
	return ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) < 0 && errno == EPERM ? pipe_fd : NULL;
}

/* The thread was there before the filter. */
static int confine_a_thread(void)
{
	struct error err = {};
	pthread_t thread;
	void *result = NULL;
	int ends[2];

	if (pipe(ends) < 0 || pthread_create(&thread, NULL, wait_and_trace, &ends[0]) != 0)
		return 1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall_filter_apply(FILTER_AGENT, &err) < 0)
		return 2;
	return write(ends[1], "x", 1) != 1 || pthread_join(thread, &result) != 0 || !result ? 3 : 0;
}

TEST(threads_that_were_there_have_it_too)
{
	ASSERT_EQ(ended(confine_a_thread), 0);
}

static bool has_call(const struct filter_row *row, const char *wanted)
{
	char name[FILTER_NAME_SIZE];
	const char *at = row->calls;

	while ((at = filter_row_next(at, name))) {
		if (strcmp(name, wanted) == 0)
			return true;
	}
	return false;
}

/* libseccomp knows each name, each row says why, and no call is both given and refused. */
TEST(the_table_is_sound)
{
	size_t count;
	const struct filter_row *table = syscall_filter_table(&count);

	for (size_t i = 0; i < count; i++) {
		char name[FILTER_NAME_SIZE];
		const char *at = table[i].calls;

		ASSERT(*table[i].why);
		ASSERT((table[i].users & ~(unsigned int)FILTER_ALL) == 0);
		ASSERT((table[i].value & ~table[i].mask) == 0);
		ASSERT(table[i].argument < 6);
		while ((at = filter_row_next(at, name))) {
			if (seccomp_syscall_resolve_name(name) == __NR_SCMP_ERROR)
				printf("  libseccomp does not know %s\n", name);
			ASSERT(seccomp_syscall_resolve_name(name) != __NR_SCMP_ERROR);
			for (size_t j = 0; j < count; j++) {
				if (!table[i].users && table[j].users)
					ASSERT(!has_call(&table[j], name));
			}
		}
	}
}
