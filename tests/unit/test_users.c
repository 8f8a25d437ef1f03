/* SPDX-License-Identifier: MIT */
#include "jobs/users.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "test.h"

#define HANGS 13
#define FALLS 14
#define FAILS 15
#define ABSENT 16
#define ESCAPES 17
#define LONG 18
#define FOREIGN 19
#define MINUTE_NS UINT64_C(60000000000)

/* A directory of users as bad as can be. */
static int made_lookup(uint32_t uid, char name[USERS_NAME_MAX])
{
	switch (uid) {
	case HANGS:
		for (;;)
			pause();
	case FALLS:
		raise(SIGKILL);
		break;
	case FAILS:
		return -EIO;
	case ABSENT:
		return -ENOENT;
	case ESCAPES:
		strcpy(name, "\x1b[2Jroot\n");
		return 0;
	case LONG:
		memset(name, 'x', USERS_NAME_MAX); /* without an end */
		return 0;
	case FOREIGN:
		strcpy(name, "J\xc3\xbcrgen \xff");
		return 0;
	}
	snprintf(name, USERS_NAME_MAX, "made-%u", uid);
	return 0;
}

static struct users *open_made(void)
{
	return users_new(&(struct users_options){ .lookup = made_lookup });
}

/* Work until no child runs and nobody waits: the clock stands, so that nothing is late. */
static void settle(struct users *u, uint64_t now)
{
	const struct timespec pause_1_ms = { .tv_nsec = 1000000 };
	struct users_state state;

	for (int i = 0; i < 10000; i++) {
		struct pollfd poll_fd = { .events = POLLIN };

		users_work(u, now);
		users_get_state(u, &state);
		if (users_fd(u) < 0 && !state.waiting)
			return;
		poll_fd.fd = users_fd(u);
		if (users_fd(u) < 0)
			nanosleep(&pause_1_ms, NULL); /* for the end of a process that was killed */
		else
			(void)poll(&poll_fd, 1, 1000);
	}
	ASSERT(!"settled");
}

TEST(a_name_is_not_known_at_first_and_then_it_is)
{
	_cleanup_(users_freep) struct users *u = open_made();
	const char *name = NULL;

	ASSERT_ERR(users_find(u, 1000, 0, &name), -EAGAIN);
	ASSERT(!name && users_fd(u) < 0); /* nothing runs before users_work() */
	settle(u, 0);
	ASSERT_OK(users_find(u, 1000, 0, &name));
	ASSERT_STREQ(name, "made-1000");
	ASSERT_ERR(users_find(u, 1001, 0, &name), -EAGAIN);
}

TEST(many_uids_are_asked_in_batches)
{
	_cleanup_(users_freep) struct users *u = open_made();
	struct users_state state;
	const char *name;

	for (uint32_t uid = 1000; uid < 1100; uid++)
		ASSERT_ERR(users_find(u, uid, 0, &name), -EAGAIN);
	settle(u, 0);
	for (uint32_t uid = 1000; uid < 1100; uid++)
		ASSERT_OK(users_find(u, uid, 0, &name));
	ASSERT_STREQ(name, "made-1099");
	users_get_state(u, &state);
	ASSERT_EQ(state.children, UINT64_C(2));
}

TEST(who_hangs_is_given_up_and_the_others_get_their_names)
{
	_cleanup_(users_freep) struct users *u = open_made();
	struct users_state state;
	const char *name;

	ASSERT_ERR(users_find(u, HANGS, 0, &name), -EAGAIN);
	ASSERT_ERR(users_find(u, 1000, 0, &name), -EAGAIN);
	users_work(u, 0);
	ASSERT(users_fd(u) >= 0);
	users_work(u, 9 * MINUTE_NS / 60);
	ASSERT_ERR(users_find(u, 1000, 9 * MINUTE_NS / 60, &name), -EAGAIN);
	settle(u, 11 * MINUTE_NS / 60); /* 10 s is its time */
	ASSERT_OK(users_find(u, 1000, 11 * MINUTE_NS / 60, &name));
	ASSERT_ERR(users_find(u, HANGS, 11 * MINUTE_NS / 60, &name), -EAGAIN);
	users_get_state(u, &state);
	ASSERT_EQ(state.late, UINT64_C(1));
	ASSERT_EQ(state.waiting, 0); /* it is not asked for again at once */
	ASSERT_ERR(users_find(u, HANGS, 2 * MINUTE_NS, &name), -EAGAIN);
	users_get_state(u, &state);
	ASSERT_EQ(state.waiting, 1);
}

TEST(who_kills_the_child_is_given_up_and_the_others_get_their_names)
{
	_cleanup_(users_freep) struct users *u = open_made();
	const char *name;

	ASSERT_ERR(users_find(u, FALLS, 0, &name), -EAGAIN);
	ASSERT_ERR(users_find(u, 1000, 0, &name), -EAGAIN);
	settle(u, 0);
	ASSERT_OK(users_find(u, 1000, 0, &name));
	ASSERT_ERR(users_find(u, FALLS, 0, &name), -EAGAIN);
}

TEST(no_name_and_no_answer_are_not_the_same)
{
	_cleanup_(users_freep) struct users *u = open_made();
	const char *name;

	(void)users_find(u, ABSENT, 0, &name);
	(void)users_find(u, FAILS, 0, &name);
	settle(u, 0);
	ASSERT_ERR(users_find(u, ABSENT, 0, &name), -ENOENT);
	ASSERT_ERR(users_find(u, FAILS, 0, &name), -EAGAIN);
}

TEST(names_that_would_break_an_output_are_none)
{
	_cleanup_(users_freep) struct users *u = open_made();
	const char *name;

	for (uint32_t uid = ESCAPES; uid <= FOREIGN; uid++)
		(void)users_find(u, uid, 0, &name);
	settle(u, 0);
	ASSERT_ERR(users_find(u, ESCAPES, 0, &name), -ENOENT);
	ASSERT_ERR(users_find(u, FOREIGN, 0, &name), -ENOENT);
	ASSERT_OK(users_find(u, LONG, 0, &name)); /* cut */
	ASSERT_EQ(strlen(name), (size_t)USERS_NAME_MAX - 1);
}

static int renamed_lookup(uint32_t uid, char name[USERS_NAME_MAX])
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	snprintf(name, USERS_NAME_MAX, "u%u-%ld-%ld", uid, t.tv_sec, t.tv_nsec);
	return 0;
}

TEST(an_old_name_is_given_while_it_is_asked_for_anew)
{
	_cleanup_(users_freep) struct users *u =
		users_new(&(struct users_options){ .lookup = renamed_lookup });
	char before[USERS_NAME_MAX];
	struct users_state state;
	const char *name;

	(void)users_find(u, 7, 0, &name);
	settle(u, 0);
	ASSERT_OK(users_find(u, 7, 59 * MINUTE_NS, &name));
	snprintf(before, sizeof(before), "%s", name);
	users_get_state(u, &state);
	ASSERT_EQ(state.waiting, 0);
	ASSERT_OK(users_find(u, 7, 61 * MINUTE_NS, &name));
	ASSERT_STREQ(name, before);
	settle(u, 61 * MINUTE_NS);
	ASSERT_OK(users_find(u, 7, 61 * MINUTE_NS, &name));
	ASSERT(strcmp(name, before) != 0);
}

TEST(the_cache_is_bounded_and_keeps_whom_was_asked_for_of_late)
{
	_cleanup_(users_freep) struct users *u = open_made();
	struct users_state state;
	const char *name;

	(void)users_find(u, 4096, 0, &name);
	settle(u, 0);
	for (uint32_t i = 1; i <= 3 * USERS_KEPT; i++) {
		(void)users_find(u, 4096 + i, 0, &name);
		ASSERT_OK(users_find(u, 4096, 0, &name));
	}
	users_get_state(u, &state);
	ASSERT(state.waiting < USERS_KEPT);
	ASSERT_STREQ(name, "made-4096");
}

/* What the child has, as its "name". */
static int tell_lookup(uint32_t uid, char name[USERS_NAME_MAX])
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {};
	int open_fds = 0;
	sigset_t blocked;

	for (int fd = 4; fd < 1024; fd++)
		open_fds += fcntl(fd, F_GETFD) >= 0;
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	syscall(SYS_capget, &head, caps);
	snprintf(name, USERS_NAME_MAX, "fds-%d-blocked-%d-caps-%x-%x-of-%u", open_fds,
		 sigismember(&blocked, SIGTERM), caps[0].effective | caps[0].permitted,
		 caps[1].effective | caps[1].permitted, uid);
	return 0;
}

TEST(the_child_has_neither_descriptors_nor_blocked_signals_nor_rights)
{
	_cleanup_(users_freep) struct users *u =
		users_new(&(struct users_options){ .lookup = tell_lookup });
	_cleanup_close_ int fd = open("/", O_PATH);
	sigset_t term, before;
	const char *name;

	ASSERT(fd >= 0);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &before);
	(void)users_find(u, 5, 0, &name);
	settle(u, 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	ASSERT_OK(users_find(u, 5, 0, &name));
	ASSERT_STREQ(name, "fds-0-blocked-0-caps-0-0-of-5");
}

TEST(the_system_knows_root)
{
	_cleanup_(users_freep) struct users *u = users_new(&(struct users_options){});
	const char *name;

	(void)users_find(u, 0, 0, &name);
	(void)users_find(u, UINT32_MAX - 17, 0, &name);
	settle(u, 0);
	ASSERT_OK(users_find(u, 0, 0, &name));
	ASSERT_STREQ(name, "root");
	ASSERT_ERR(users_find(u, UINT32_MAX - 17, 0, &name), -ENOENT);
}
