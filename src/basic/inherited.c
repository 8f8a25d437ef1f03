/* SPDX-License-Identifier: MIT */
#include "basic/inherited.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "basic/macro.h"

#define AS_IT_WAS SIG_ERR
#define DESCRIPTORS 1024 /* Linux' own default */

/* clang-format off */
static struct {
	int number;
	sighandler_t ours;
	struct sigaction theirs;
} signals[] = {
	{ .number = SIGCHLD, .ours = SIG_DFL },   /* ignored: the kernel reaps our children, and wait() waits for ever */
	{ .number = SIGXFSZ, .ours = SIG_IGN },   /* a limit on the size of files is an error of write() */
	{ .number = SIGPIPE, .ours = AS_IT_WAS }, /* for commands alone: some programs of ours ignore it */
};
/* clang-format on */
static struct rlimit descriptors;
static mode_t file_mask;
static bool is_known;

void inherited_set_right(mode_t mask)
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		const struct sigaction ours = { .sa_handler = signals[i].ours };

		sigaction(signals[i].number, ours.sa_handler == AS_IT_WAS ? NULL : &ours,
			  &signals[i].theirs);
	}
	file_mask = umask(0);
	umask(file_mask & mask); /* our own files must be readable for us */
	if (getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur < DESCRIPTORS) {
		const struct rlimit ours = { MIN((rlim_t)DESCRIPTORS, descriptors.rlim_max),
					     descriptors.rlim_max };

		(void)setrlimit(RLIMIT_NOFILE, &ours);
	}
	is_known = true;
}

void inherited_give_back(void)
{
	if (!is_known)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i].number, &signals[i].theirs, NULL);
	umask(file_mask);
	(void)setrlimit(RLIMIT_NOFILE, &descriptors);
}
