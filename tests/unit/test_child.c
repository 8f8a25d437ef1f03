/* SPDX-License-Identifier: MIT */
#include "cli/child.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test.h"

static pid_t command; /* 0: nobody counts */
static int passed; /* signals that were sent to it alone */
static bool is_armed; /* the next fork() comes just behind a signal to all of the group */

/* In place of libc's, which the rest of the program calls, too. */
int kill(pid_t pid, int number)
{
	passed += command && pid == command && number == SIGUSR1;
	return (int)syscall(SYS_kill, pid, number);
}

pid_t fork(void)
{
	pid_t (*libcs)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");

	if (is_armed) {
		is_armed = false;
		syscall(SYS_kill, 0, SIGUSR1);
	}
	return libcs();
}

/* What came so far. */
static void serve(struct child *c)
{
	for (int i = 0; i < 5; i++)
		ASSERT_EQ(child_wait(c, 20, NULL), 1);
}

TEST(what_goes_to_all_of_the_group_is_not_passed_on_however_soon_it_comes_again)
{
	char *argv[] = { (char *)"sleep", (char *)"600", NULL };
	struct child c;

	(void)setpgid(0, 0); /* nobody else's */
	child_begin(&c);
	signal(SIGUSR1, SIG_IGN); /* by the command, since we hold it */
	ASSERT_OK(child_prepare(&c, argv, NULL));
	ASSERT_OK(child_release(&c, NULL));
	command = c.pid;

	is_armed = true; /* a second time, before there is a new witness */
	syscall(SYS_kill, 0, SIGUSR1);
	serve(&c);
	ASSERT(!is_armed);
	ASSERT_EQ(passed, 0);

	syscall(SYS_kill, 0, SIGUSR1); /* the new one tells as well */
	serve(&c);
	ASSERT_EQ(passed, 0);

	syscall(SYS_kill, getpid(), SIGUSR1);
	serve(&c);
	ASSERT_EQ(passed, 1);

	kill(command, SIGKILL);
	command = 0;
	ASSERT_OK(child_wait(&c, -1, NULL));
	ASSERT_EQ(child_exit_code(&c), 128 + SIGKILL);
	child_clear(&c);
	child_end(&c);
}
