/* SPDX-License-Identifier: MIT */
#include "server/sync/query.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "service/privileges.h"

#define MS UINT64_C(1000000)
#define PATIENCE_MS 300000 /* of one command */
#define PART_BYTES (32u << 10)
#define PARTS_A_TURN 32
#define WORDS_MAX 200 /* of what the command says of a failure */
#define FIELDS_MAX (16u << 10)

struct part { /* what comes back */
	bool is_end;
	bool has_failed;
	char bytes[PART_BYTES]; /* or, of a failure, words */
};

/* ---- the process ---- */

struct process {
	const struct manager *manager;
	const char *directory;
	int fd;
	bool has_fields;
	char fields[FIELDS_MAX];
};

static int send_part(void *context, const char *bytes, size_t length)
{
	struct process *p = context;
	struct part part = {};

	memcpy(part.bytes, bytes, length);
	return send(p->fd, &part, offsetof(struct part, bytes) + length, MSG_NOSIGNAL) < 0 ? -errno
											   : 0;
}

static void send_end(struct process *p, const struct error *err)
{
	struct part part = { .is_end = true, .has_failed = *err->text };
	size_t length = strnlen(err->text, WORDS_MAX);

	memcpy(part.bytes, err->text, length);
	(void)send(p->fd, &part, offsetof(struct part, bytes) + length, MSG_NOSIGNAL);
}

static int keep_fields(void *context, const char *bytes, size_t length)
{
	struct process *p = context;
	size_t before = strlen(p->fields), room = sizeof(p->fields) - 1 - before;

	memcpy(p->fields + before, bytes, MIN(length, room));
	return 0;
}

/* In a time zone without an hour that comes twice, and without what else could change its words. */
static _Noreturn void execute(const struct process *p, const struct manager_command *command,
			      int out, int err)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGQUIT };
	static const char *const kept[] = { "PATH", "SLURM_CONF", "LSF_ENVDIR", "LSF_SERVERDIR",
					    "FLUX_URI" };
	char texts[ARRAY_SIZE(kept)][4096], path[4096];
	char *environment[ARRAY_SIZE(kept) + 5] = { "TZ=UTC0", "LC_ALL=C.UTF-8",
						    "SLURM_TIME_FORMAT=standard",
						    "LSB_DISPLAY_YEAR=Y" };
	size_t count = 4;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_DFL);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		const char *value = getenv(kept[i]);

		if (value && snprintf(texts[i], sizeof(texts[i]), "%s=%s", kept[i], value) <
				     (int)sizeof(texts[i]))
			environment[count++] = texts[i];
	}
	setpgid(0, 0);
	if (p->manager->is_of_files && chdir(p->directory) < 0) {
		dprintf(err, "cannot go to '%s': %s\n", p->directory, strerror(errno));
		_exit(127);
	}
	snprintf(path, sizeof(path), "%s%s%s", p->manager->is_of_files ? "" : p->directory,
		 *p->directory && !p->manager->is_of_files ? "/" : "", command->argv[0]);
	if (dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0)
		execvpe(path, (char *const *)command->argv, environment);
	dprintf(err, "cannot run '%s': %s\n", path, strerror(errno));
	_exit(127);
}

/* Until both pipes are at their end. */
static int read_child(const int pipes[2], int server_fd,
		      int (*take)(void *context, const char *bytes, size_t length), void *context,
		      char words[WORDS_MAX], struct error *err)
{
	const uint64_t end_ns = clock_now_ns(CLOCK_MONOTONIC) + PATIENCE_MS * MS;
	struct pollfd fds[] = { { pipes[0], POLLIN, 0 },
				{ pipes[1], POLLIN, 0 },
				{ server_fd, 0, 0 } };
	char bytes[PART_BYTES];
	size_t said = 0;

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);

		if (now_ns >= end_ns)
			return error_set(err, -ETIME, "it takes longer than %d s",
					 PATIENCE_MS / 1000);
		if (poll(fds, ARRAY_SIZE(fds), (int)((end_ns - now_ns) / MS) + 1) < 0)
			continue;
		if (fds[2].revents) /* the server is gone */
			return -EPIPE;
		for (int i = 0; i < 2; i++) {
			ssize_t n = fds[i].revents ? read(fds[i].fd, bytes, sizeof(bytes)) : -1;
			int r = 0;

			if (n > 0 && i == 0)
				r = take(context, bytes, (size_t)n);
			for (ssize_t j = 0; j < n && i == 1 && said < WORDS_MAX - 1; j++)
				words[said++] = bytes[j];
			if (n == 0)
				fds[i].fd = -1;
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int run_command(const struct process *p, const struct manager_command *command,
		       int (*take)(void *context, const char *bytes, size_t length), void *context,
		       struct error *err)
{
	int out[2] = { -EBADF, -EBADF }, errors[2] = { -EBADF, -EBADF };
	char words[WORDS_MAX] = "";
	pid_t pid = -1;
	int status = 0, r;

	if (pipe2(out, O_CLOEXEC) == 0 && pipe2(errors, O_CLOEXEC) == 0)
		pid = fork();
	if (pid == 0)
		execute(p, command, out[1], errors[1]);
	r = pid < 0 ? error_set_errno(err, errno, "cannot run '%s'", command->argv[0]) : 0;
	closep(&out[1]);
	closep(&errors[1]);
	if (pid > 0)
		r = read_child((const int[]){ out[0], errors[0] }, p->fd, take, context, words,
			       err);
	if (pid > 0 && r < 0)
		kill(-pid, SIGKILL);
	closep(&out[0]);
	closep(&errors[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	words[strcspn(words, "\n")] = '\0';
	if (r >= 0 && status)
		r = error_set(err, -EIO, "%s", *words ? words : "it failed");
	return r < 0 ? error_prefix(err, r, "%s", command->argv[0]) : 0;
}

static void answer(struct process *p, const struct query_request *request)
{
	struct manager_command command = {};
	struct error err = {};
	int r = 0;

	if (!p->has_fields && p->manager->command(QUESTION_FIELDS, request, "", &command))
		r = run_command(p, &command, keep_fields, p, &err);
	p->has_fields = r >= 0;
	command = (struct manager_command){};
	if (r >= 0 && p->manager->command((enum manager_question)request->question, request,
					  p->fields, &command))
		r = run_command(p, &command, send_part, p, &err);
	if (r < 0 && !*err.text)
		error_set_errno(&err, r, "%s", p->manager->name);
	send_end(p, &err);
}

static _Noreturn void be_query(struct process *p, const struct service_user *user, pid_t server)
{
	const struct privileges_options no_rights = { .user = user };
	struct error err = {};
	struct query_request request;

	privileges_close_others(p->fd, p->fd);
	prctl(PR_SET_NAME, "jobmeter-query");
	privileges_ignore_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != server || privileges_drop(&no_rights, NULL, &err) < 0)
		_exit(1);
	while (recv(p->fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request))
		answer(p, &request);
	_exit(0);
}

/* ---- the server's side ---- */

int query_start(const struct manager *manager, const char *directory,
		const struct service_user *user, int *ret_fd, struct error *err)
{
	struct process process = { .manager = manager, .directory = directory };
	pid_t server = getpid(), pid = -1;
	int ends[2] = { -EBADF, -EBADF };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0)
		pid = fork();
	process.fd = ends[1];
	if (pid == 0)
		be_query(&process, user, server);
	closep(&ends[1]);
	if (pid < 0) {
		closep(&ends[0]);
		return error_set_errno(err, errno, "cannot start what asks %s", manager->name);
	}
	*ret_fd = ends[0];
	return 0;
}

int query_ask(int fd, const struct query_request *request, struct error *err)
{
	if (send(fd, request, sizeof(*request), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return error_set(err, -EPIPE, "the process that asks it is gone");
	return 0;
}

enum query_state query_read(int fd, void (*take)(void *context, const char *bytes, size_t length),
			    void *context, struct error *err)
{
	const size_t head = offsetof(struct part, bytes);

	for (int i = 0; i < PARTS_A_TURN; i++) {
		struct part part;
		ssize_t n = recv(fd, &part, sizeof(part), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return QUERY_GOES_ON;
		if (n < (ssize_t)head) {
			error_set(err, -EPIPE, "the process that asks it is gone");
			return QUERY_IS_GONE;
		}
		if (part.is_end && part.has_failed)
			error_set(err, -EIO, "%.*s", (int)((size_t)n - head), part.bytes);
		if (part.is_end)
			return part.has_failed ? QUERY_FAILED : QUERY_IS_WHOLE;
		take(context, part.bytes, (size_t)n - head);
	}
	return QUERY_GOES_ON;
}
