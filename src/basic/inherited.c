/* SPDX-License-Identifier: MIT */
#include "basic/inherited.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "basic/macro.h"

#define AS_IT_WAS SIG_ERR

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
static mode_t file_mask;
static bool is_known;

void inherited_set_right(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		const struct sigaction ours = { .sa_handler = signals[i].ours };

		sigaction(signals[i].number, ours.sa_handler == AS_IT_WAS ? NULL : &ours,
			  &signals[i].theirs);
	}
	file_mask = umask(0);
	umask(file_mask & 077); /* what we write we can read again */
	is_known = true;
}

void inherited_give_back(void)
{
	if (!is_known)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i].number, &signals[i].theirs, NULL);
	umask(file_mask);
}
