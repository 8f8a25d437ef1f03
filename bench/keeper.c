/* SPDX-License-Identifier: MIT */
#include "keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"

static _Noreturn void keep(int parent_fd, void (*end)(const void *what), const void *what)
{
	struct pollfd parent = { .fd = parent_fd, .events = POLLIN };
	sigset_t all;

	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	while (poll(&parent, 1, -1) < 0 && errno == EINTR)
		;
	end(what);
	_exit(0);
}

int keeper_start(void (*end)(const void *what), const void *what, pid_t *ret, struct error *err)
{
	_cleanup_close_ int self_fd = (int)syscall(SYS_pidfd_open, getpid(), 0); /* readable when it
										    ends */
	pid_t pid;

	if (self_fd < 0)
		return error_set_errno(err, errno, "cannot open this process");
	pid = fork();
	if (pid == 0)
		keep(self_fd, end, what);
	if (pid < 0)
		return error_set_errno(err, errno, "cannot start a process");
	*ret = pid;
	return 0;
}

void keeper_dismiss(pid_t keeper)
{
	if (keeper <= 0)
		return;
	kill(keeper, SIGKILL);
	waitpid(keeper, NULL, 0);
}
