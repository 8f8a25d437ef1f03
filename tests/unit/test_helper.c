/* SPDX-License-Identifier: MIT */
/* The root helper with real groups and users: without root and a cgroup file system nothing of it
 * can be tried. */
#include "agent/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "cgroup/hierarchy.h"
#include "basic/macro.h"
#include "test.h"

#define USER 54321
#define OTHER 54322

static int root_fd = -EBADF;

/* The helper's own processes die by their agent's end; users' die with the test. */
static pid_t start_user(uid_t uid)
{
	pid_t pid, parent = getpid();
	int ready[2];
	char byte;

	ASSERT_OK(pipe(ready));
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0 ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		close(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	ASSERT_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static char *path_of(pid_t pid)
{
	_cleanup_(hierarchy_clear) struct hierarchy h = {};

	ASSERT_OK(hierarchy_read_of(root_fd, pid, &h, NULL));
	return strdup(hierarchy_own_path(&h));
}

/* Why nothing can be tried, said once a test. */
static struct helper *start(void)
{
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	struct helper *helper = NULL;
	struct error err = {};

	if (root_fd < 0)
		root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (geteuid() != 0 || hierarchy_read(root_fd, &h, &err) < 0) {
		printf("  (not root, or no cgroup file system: not tried)\n");
		return NULL;
	}
	if (helper_start(root_fd, NULL, &helper, &err) < 0)
		printf("  %s\n", err.text);
	ASSERT(helper != NULL);
	return helper;
}

static struct helper *start_or_skip(struct helper_group *probe)
{
	struct helper *helper = start();
	struct error err = {};
	pid_t pid;
	int r;

	if (!helper)
		return NULL;
	pid = start_user(USER);
	r = helper_make_group(helper, pid, USER, (unsigned int)pid, probe, &err);
	stop(pid);
	if (r == -EROFS || r == -EACCES || r == -EPERM) {
		printf("  (%s: not tried)\n", err.text);
		return helper_stop(helper);
	}
	ASSERT_OK(r);
	ASSERT_OK(helper_remove_group(helper, probe->token, &err));
	return helper;
}

/* Requests are answered in their order, so the one after a removal tells of its end, or of its next
 * try. */
static void wait_until_gone(struct helper *helper, const char *path)
{
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	_cleanup_free_ char *dir = NULL;

	ASSERT_OK(hierarchy_read(root_fd, &h, NULL));
	dir = hierarchy_find_dir(&h, path);
	for (int i = 0; i < 500 && access(dir, F_OK) == 0; i++)
		poll(NULL, 0, 10);
	ASSERT(access(dir, F_OK) < 0);
	ASSERT_OK(helper_run(helper));
}

/* A directory and a socket that nobody listens on, as an agent leaves them. */
static void leave_behind(const char *dir, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ASSERT_OK(mkdir(dir, 0700));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	ASSERT_OK(bind(fd, (const struct sockaddr *)&address, sizeof(address)));
	close(fd);
}

TEST(a_clean_end_takes_along_what_the_agent_may_not_remove)
{
	const char *dir = test_path("pins"), *path = test_path("sock");
	struct helper *probe = start(), *helper = NULL;

	if (!probe)
		return;
	helper_stop(probe);
	leave_behind(dir, path);
	ASSERT_OK(helper_start(root_fd, &(struct helper_leftovers){ dir, path }, &helper, NULL));
	ASSERT_OK(access(path, F_OK));
	helper_stop(helper);
	ASSERT(access(dir, F_OK) < 0 && access(path, F_OK) < 0);
}

TEST(a_users_process_is_put_below_its_own_group_and_nowhere_else)
{
	struct helper_group group = {};
	struct helper *helper = start_or_skip(&group);
	_cleanup_free_ char *before = NULL, *after = NULL, *beside = NULL, *wanted = NULL;
	struct error err = {};
	pid_t pid, other;

	if (!helper)
		return;
	pid = start_user(USER);
	other = start_user(USER);
	before = path_of(pid);
	ASSERT_OK(helper_make_group(helper, pid, USER, (unsigned int)pid, &group, &err));
	after = path_of(pid);
	beside = path_of(other);
	ASSERT(asprintf(&wanted, "%s/jobmeter-run-%d", strcmp(before, "/") == 0 ? "" : before,
			pid) > 0);
	ASSERT_STREQ(after, wanted);
	ASSERT_STREQ(beside, before); /* only that one */
	ASSERT(group.id != 0);

	/* What lives in it goes back; the group goes. */
	ASSERT_OK(helper_remove_group(helper, group.token, &err));
	wait_until_gone(helper, after);
	ASSERT_TEXT(path_of(pid), before);
	stop(pid);
	stop(other);
	helper_stop(helper);
}

/* As systemd's user@UID.service is: not even root may write there without a right to. */
TEST(a_group_that_was_given_to_its_user_takes_another_below_it)
{
	struct helper_group group = {}, inner = {};
	struct helper *helper = start_or_skip(&group);
	_cleanup_(hierarchy_clear) struct hierarchy h = {};
	_cleanup_free_ char *dir = NULL, *before = NULL, *after = NULL, *innermost = NULL;
	char given[4096], procs[4200], text[16];
	struct error err = {};
	pid_t pid;

	if (!helper)
		return;
	pid = start_user(USER);
	ASSERT_OK(hierarchy_read(root_fd, &h, NULL));
	dir = hierarchy_find_dir(&h, hierarchy_own_path(&h));
	snprintf(given, sizeof(given), "%s/jobmeter-test-%d", dir, getpid());
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", given);
	snprintf(text, sizeof(text), "%d", pid);
	ASSERT_OK(mkdir(given, 0755));
	ASSERT_OK(file_write_existing(AT_FDCWD, procs, text));
	ASSERT_OK(chown(given, USER, USER));
	ASSERT_OK(chmod(given, 0500));
	before = path_of(pid);
	ASSERT_OK(helper_make_group(helper, pid, USER, 1, &group, &err));
	after = path_of(pid);
	ASSERT(strncmp(after, before, strlen(before)) == 0);
	ASSERT_STREQ(after + strlen(before), "/jobmeter-run-1");
	ASSERT_OK(helper_make_group(helper, pid, USER, 1, &inner, &err)); /* a run in a run */
	innermost = path_of(pid);
	ASSERT_STREQ(innermost + strlen(after), "/jobmeter-run-1");
	stop(pid);
	ASSERT_OK(helper_remove_group(helper, inner.token, &err));
	ASSERT_OK(helper_remove_group(helper, group.token, &err));
	wait_until_gone(helper, after);
	ASSERT_OK(rmdir(given));
	helper_stop(helper);
}

TEST(anothers_process_is_refused)
{
	struct helper_group group = {};
	struct helper *helper = start_or_skip(&group);
	_cleanup_free_ char *before = NULL;
	struct error err = {};
	char wanted[64];
	pid_t pid;

	if (!helper)
		return;
	pid = start_user(OTHER);
	before = path_of(pid);
	ASSERT_ERR(helper_make_group(helper, pid, USER, 1, &group, &err), -EPERM);
	snprintf(wanted, sizeof(wanted), "process %d is not user %d's", pid, USER);
	ASSERT_STREQ(err.text, wanted);
	ASSERT_TEXT(path_of(pid), before);
	ASSERT_ERR(helper_make_group(helper, getpid(), USER, 1, &group, &err), -EPERM);
	ASSERT_ERR(helper_make_group(helper, 1, 0, 1, &group, &err), -EBADMSG);
	stop(pid);
	ASSERT_ERR(helper_make_group(helper, pid, OTHER, 1, &group, &err), -ESRCH);
	helper_stop(helper);
}

/* A user of his own cannot fill the tree: it is as deep as it is wide. */
TEST(the_groups_of_a_user_are_bounded)
{
	struct helper_group first = {}, group = {};
	struct helper *helper = start_or_skip(&group);
	struct error err = {};
	pid_t pids[HELPER_GROUPS_OF_USER + 1];
	pid_t other;
	char *path;

	if (!helper)
		return;
	ASSERT_OK(helper_run(helper));
	for (int i = 0; i < HELPER_GROUPS_OF_USER; i++) {
		pids[i] = start_user(OTHER);
		ASSERT_OK(helper_make_group(helper, pids[i], OTHER, (unsigned int)pids[i],
					    i ? &group : &first, &err));
	}
	pids[HELPER_GROUPS_OF_USER] = start_user(OTHER);
	ASSERT_ERR(helper_make_group(helper, pids[HELPER_GROUPS_OF_USER], OTHER, 7, &group, &err),
		   -EDQUOT);
	ASSERT_CONTAINS(err.text, "has 256 groups already");
	other = start_user(USER); /* which takes nothing from others */
	ASSERT_OK(helper_make_group(helper, other, USER, (unsigned int)other, &group, &err));
	path = path_of(pids[0]);
	ASSERT_OK(helper_remove_group(helper, first.token, &err));
	wait_until_gone(helper, path);
	free(path);
	ASSERT_OK(helper_make_group(helper, pids[HELPER_GROUPS_OF_USER], OTHER, 7, &group, &err));
	ASSERT_ERR(helper_make_group(helper, pids[0], OTHER, 7, &group, &err), -EDQUOT);
	path = path_of(other);
	for (int i = 0; i <= HELPER_GROUPS_OF_USER; i++)
		stop(pids[i]);
	stop(other);
	helper_stop(helper); /* it takes its empty groups along */
	ASSERT(access(path, F_OK) < 0);
	free(path);
}

/* ---- what an enemy could send ---- */

static pid_t serve(int *ret_fd)
{
	int ends[2];
	pid_t pid;

	ASSERT_OK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		helper_serve(ends[1], root_fd);
		_exit(0);
	}
	close(ends[1]);
	*ret_fd = ends[0];
	return pid;
}

static struct helper_reply reply_of(int fd)
{
	struct helper_reply reply = {};

	ASSERT_EQ(recv(fd, &reply, sizeof(reply), 0), (ssize_t)sizeof(reply));
	return reply;
}

static int ask(int fd, const void *message, size_t size)
{
	ASSERT_EQ(send(fd, message, size, 0), (ssize_t)size);
	return reply_of(fd).result;
}

TEST(forged_and_short_messages_are_refused)
{
	struct helper_request good = { .magic = HELPER_MAGIC,
				       .version = HELPER_VERSION,
				       .kind = HELPER_MAKE,
				       .sequence = 1,
				       .pid = 2,
				       .uid = USER,
				       .number = 1 };
	struct helper_request bad;
	struct helper *probe = start();
	char large[4096] = "";
	pid_t pid;
	int fd, status;

	if (!probe)
		return;
	helper_stop(probe);
	pid = serve(&fd);
	ASSERT_EQ(reply_of(fd).result, 0);
	ASSERT_ERR(ask(fd, &good, sizeof(good) - 1), -EBADMSG);
	ASSERT_ERR(ask(fd, "x", 1), -EBADMSG);
	memcpy(large, &good, sizeof(good));
	ASSERT_ERR(ask(fd, large, sizeof(large)), -EBADMSG);
#define WITH(change) (bad = good, change, ask(fd, &bad, sizeof(bad)))
	ASSERT_ERR(WITH(bad.magic++), -EBADMSG);
	ASSERT_ERR(WITH(bad.version++), -EBADMSG);
	ASSERT_ERR(WITH(bad.kind = 77), -EBADMSG);
	ASSERT_ERR(WITH(bad.key = CONTROLLER_COUNT + 1), -EBADMSG);
	ASSERT_ERR(WITH(bad.pid = -1), -EBADMSG);
	ASSERT_ERR(WITH(bad.pid = 0), -EBADMSG);
	ASSERT_ERR(WITH(bad.number = 0), -EBADMSG);
	ASSERT_ERR(WITH(bad.number = UINT32_MAX), -EBADMSG);
	ASSERT_ERR(WITH(bad.token = 1), -EBADMSG);
	bad = (struct helper_request){ .magic = HELPER_MAGIC,
				       .version = HELPER_VERSION,
				       .kind = HELPER_RELEASE };
	ASSERT_ERR(ask(fd, &bad, sizeof(bad)), -EBADMSG);
	bad.number = HELPER_NUMBER_MAX;
	ASSERT_ERR(ask(fd, &bad, sizeof(bad)), -ENOENT);
	bad.uid = 1;
	ASSERT_ERR(ask(fd, &bad, sizeof(bad)), -EBADMSG);
	bad = (struct helper_request){ .magic = HELPER_MAGIC,
				       .version = HELPER_VERSION,
				       .kind = HELPER_REMOVE };
	ASSERT_ERR(ask(fd, &bad, sizeof(bad)), -ENOENT);
	bad.token = UINT64_MAX;
	ASSERT_ERR(ask(fd, &bad, sizeof(bad)), -ENOENT);
	bad.token = HELPER_GROUPS_MAX;
	ASSERT_ERR(ask(fd, &bad, sizeof(bad)), -ENOENT);
	bad.pid = 1;
	ASSERT_ERR(ask(fd, &bad, sizeof(bad)), -EBADMSG);
	close(fd);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
}

TEST(it_keeps_few_rights_and_outlives_signals_but_not_the_agent)
{
	struct helper *helper = start();
	char path[64], status[8192];
	struct helper_group group;
	struct error err = {};
	pid_t pid;

	if (!helper)
		return;
	pid = helper_pid(helper);
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	ASSERT(file_read_small(AT_FDCWD, path, status, sizeof(status)) > 0);
	ASSERT_CONTAINS(status, "Name:\tjobmeter-helper\n");
	ASSERT_CONTAINS(status, "\nCapEff:\t0000000000000002\n"); /* DAC_OVERRIDE */
	ASSERT_CONTAINS(status, "\nCapBnd:\t0000000000000002\n");
	ASSERT_CONTAINS(status, "\nNoNewPrivs:\t1\n");
	for (size_t i = 0; i < 3; i++)
		ASSERT_OK(kill(pid, (int[]){ SIGTERM, SIGINT, SIGHUP }[i]));
	ASSERT_ERR(helper_make_group(helper, 1, 0, 1, &group, &err), -EBADMSG); /* it answers */
	ASSERT_OK(kill(pid, SIGKILL));
	while (helper_run(helper) == 0)
		poll(&(struct pollfd){ .fd = helper_fd(helper), .events = POLLIN }, 1, 1000);
	ASSERT_ERR(helper_make_group(helper, 1, 0, 1, &group, &err), -EPIPE);
	helper_stop(helper);
}

/* The agent is killed, with no time to say anything: the pipe's end closes when the helper, too,
 * has gone. */
TEST(no_helper_is_left_behind_a_killed_agent)
{
	struct helper *probe = start();
	int pipe_fds[2], alive[2];
	pid_t agent, helper_process = 0;

	if (!probe)
		return;
	helper_stop(probe);
	ASSERT_OK(pipe(pipe_fds));
	ASSERT_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, alive));
	fflush(stdout);
	agent = fork();
	if (agent == 0) {
		struct helper *helper = NULL;

		if (helper_start(root_fd, NULL, &helper, NULL) < 0)
			_exit(1);
		helper_process = helper_pid(helper);
		if (write(pipe_fds[1], &helper_process, sizeof(helper_process)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	ASSERT_EQ(read(pipe_fds[0], &helper_process, sizeof(helper_process)),
		  (ssize_t)sizeof(helper_process));
	ASSERT_OK(prctl(PR_SET_CHILD_SUBREAPER, 1)); /* so that it becomes ours, and can be waited
							for */
	stop(agent);
	ASSERT_EQ(waitpid(helper_process, NULL, 0), helper_process);
	ASSERT_OK(prctl(PR_SET_CHILD_SUBREAPER, 0));
	for (int i = 0; i < 2; i++) {
		close(pipe_fds[i]);
		close(alive[i]);
	}
}
