/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "cli/commands.h"
#include "basic/error.h"
#include "basic/guess.h"
#include "basic/inherited.h"

static const struct cli_command *find_command(const char *name)
{
	for (size_t i = 0; i < command_count; i++) {
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	}
	return NULL;
}

static void print_usage(FILE *out)
{
	fputs("usage: jobmeter COMMAND [OPTION...] [ARGUMENT...]\n\n", out);
	for (size_t i = 0; i < command_count; i++)
		fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n'jobmeter help COMMAND' prints its options, 'jobmeter --version' the version.\n",
	      out);
}

static int refuse_command(const char *name)
{
	_cleanup_free_ const char **names = calloc(command_count, sizeof(*names));
	const char *guess;
	struct error err;

	for (size_t i = 0; names && i < command_count; i++)
		names[i] = commands[i]->name;
	guess = names ? guess_nearest(name, names, command_count, sizeof(*names)) : NULL;
	if (guess)
		error_set(&err, 0, "there is no command '%s'; did you mean '%s'?", name, guess);
	else
		error_set(&err, 0, "there is no command '%s'; 'jobmeter --help' lists them", name);
	return cli_misuse(NULL, &err);
}

static int help(int argc, char **argv)
{
	char option[] = "--help", *words[] = { NULL, option, NULL };
	const struct cli_command *command;

	if (argc == 0) {
		print_usage(stdout);
		return CLI_WELL;
	}
	command = find_command(argv[0]);
	words[0] = argv[0];
	return command ? command->run(command, 2, words) : refuse_command(argv[0]);
}

static int run(int argc, char **argv)
{
	const struct cli_command *command;

	if (argc < 2) {
		print_usage(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "help") == 0)
		return help(argc - 2, argv + 2);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return help(0, NULL);
	if (strcmp(argv[1], "--version") == 0) {
		puts("jobmeter " JOBMETER_VERSION);
		return CLI_WELL;
	}
	command = find_command(argv[1]);
	return command ? command->run(command, argc - 1, argv + 1) : refuse_command(argv[1]);
}

/* Its reader has closed it, who wants no more. */
static bool is_left(int fd)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, 0) > 0 && p.revents & POLLERR;
}

/* What a command printed has arrived. */
static int finish_printing(int code)
{
	struct error err;

	errno = 0;
	if (code != CLI_WELL || (fflush(stdout) == 0 && !ferror(stdout)) || is_left(STDOUT_FILENO))
		return code;
	error_set_errno(&err, errno ? errno : EIO, "cannot write to the standard output");
	return cli_fail(NULL, &err);
}

int main(int argc, char **argv)
{
	inherited_set_right(077);
	/* Else the next file that is opened is the standard error, and gets our messages.
	 * For a command that is run they are as closed as they were. */
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", O_RDWR | O_CLOEXEC); /* the lowest number that is
									free */
	}
	setlocale(LC_CTYPE, ""); /* the charset alone: numbers are the same everywhere */
	return finish_printing(run(argc, argv));
}
