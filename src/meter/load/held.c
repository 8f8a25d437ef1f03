/* SPDX-License-Identifier: MIT */
#include "load/held.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"

/* In the child: say that all else is done, and wait. */
static void rest(int fd)
{
	struct pollfd end = { .fd = fd, .events = POLLIN };
	int r;

	if (send(fd, "", 1, MSG_NOSIGNAL) != 1)
		_exit(127);
	do {
		r = poll(&end, 1, -1);
	} while (r < 0 && errno == EINTR);
	if (r != 1 || end.revents & (POLLHUP | POLLERR))
		_exit(127); /* the parent has gone, or gave up */
}

int held_fork(struct held *ret)
{
	_cleanup_close_ int ours = -EBADF, theirs = -EBADF;
	int pair[2];
	char byte;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		close(TAKE_FD(ours));
		rest(theirs);
		*ret = (struct held){ .pid = 0, .fd = TAKE_FD(theirs) };
		return 0;
	}
	close(TAKE_FD(theirs));
	if (recv(ours, &byte, 1, 0) != 1) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return -EIO;
	}
	*ret = (struct held){ .pid = pid, .fd = TAKE_FD(ours) };
	return 0;
}

int held_release(const struct held *h)
{
	return shutdown(h->fd, SHUT_WR) == 0 ? 0 : -errno;
}
