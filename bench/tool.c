/* SPDX-License-Identifier: MIT */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"

#define PATIENCE_MS 30000
#define IMPATIENCE_MS 1000
#define STATUS_MAX_BYTES 65536

struct tool {
	pid_t pid;
	int fd;
	size_t used;
	char says[1 << 20]; /* the rest is read and dropped */
};

bool tool_exists(const char *name)
{
	const char *path = getenv("PATH");
	char candidate[4096];

	for (const char *part = path; part && *part;) {
		size_t length = strcspn(part, ":");

		snprintf(candidate, sizeof(candidate), "%.*s/%s", (int)length, part, name);
		if (access(candidate, X_OK) == 0)
			return true;
		part += length + (part[length] == ':');
	}
	return false;
}

void tool_version(const char *name, const char *option, char *ret, int size)
{
	char command[128], *word;
	FILE *pipe;

	*ret = '\0';
	snprintf(command, sizeof(command), "%s %s 2>/dev/null", name, option);
	pipe = popen(command, "re");
	if (!pipe)
		return;
	if (!fgets(ret, size, pipe))
		*ret = '\0';
	pclose(pipe);
	ret[strcspn(ret, "\n")] = '\0';
	word = strrchr(ret, ' ');
	if (word)
		memmove(ret, word + 1, strlen(word));
}

/* More of what it says.  0: it has ended. */
static ssize_t listen_more(struct tool *t)
{
	char rest[4096];
	size_t room = sizeof(t->says) - 1 - t->used;
	ssize_t n = room ? read(t->fd, t->says + t->used, room) : read(t->fd, rest, sizeof(rest));

	if (n > 0 && room) {
		t->used += (size_t)n;
		t->says[t->used] = '\0';
	}
	return n;
}

int tool_start(char *const argv[], const char *ready, struct tool **ret, struct error *err)
{
	_cleanup_(tool_freep) struct tool *t = calloc(1, sizeof(*t));
	int ends[2];

	if (!t)
		return -ENOMEM;
	t->fd = -EBADF;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set_errno(err, errno, "cannot make a pipe");
	t->fd = ends[0];
	t->pid = fork();
	if (t->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(ends[1]);
	if (t->pid < 0)
		return error_set_errno(err, errno, "cannot start %s", argv[0]);
	while (ready && !strstr(t->says, ready)) {
		struct pollfd p = { .fd = t->fd, .events = POLLIN };

		if (poll(&p, 1, PATIENCE_MS) <= 0)
			return error_set(err, -ETIMEDOUT, "%s does not get ready", argv[0]);
		if (listen_more(t) <= 0)
			return error_set(err, -EIO, "%s says: %.200s", argv[0], t->says);
	}
	*ret = TAKE_PTR(t);
	return 0;
}

bool tool_is_running(const struct tool *t)
{
	siginfo_t info = {};

	return waitid(P_PID, (id_t)t->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}

bool tool_catches_sigint(const struct tool *t)
{
	_cleanup_free_ char *text = NULL;
	const char *caught; /* a bit a signal in 16 digits, from the right: SIGINT is the second */
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", t->pid);
	if (file_read(AT_FDCWD, path, STATUS_MAX_BYTES, &text, NULL) < 0)
		return false;
	caught = strstr(text, "SigCgt:\t");
	return caught && strlen(caught) > 24 && strchr("2367abef", caught[23]);
}

const char *tool_end(struct tool *t)
{
	if (t->pid > 0) {
		struct pollfd p = { .fd = t->fd, .events = POLLIN };

		kill(t->pid, SIGINT);
		for (;;) { /* a signal that comes while it still prepares itself may be lost */
			if (poll(&p, 1, IMPATIENCE_MS) == 0)
				kill(t->pid, SIGINT);
			else if (listen_more(t) <= 0)
				break;
		}
		waitpid(t->pid, NULL, 0);
		t->pid = 0;
	}
	return t->says;
}

struct tool *tool_free(struct tool *t)
{
	if (!t)
		return NULL;
	if (t->pid > 0) {
		kill(t->pid, SIGKILL);
		waitpid(t->pid, NULL, 0);
	}
	if (t->fd >= 0)
		close(t->fd);
	free(t);
	return NULL;
}

void tool_freep(struct tool **t)
{
	tool_free(*t);
}
