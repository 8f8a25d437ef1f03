/* SPDX-License-Identifier: MIT */
/*
 * cli - commands and their options, from tables: parsing, help, the manual pages and completion in
 * shells share them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

enum cli_exit { CLI_WELL = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_FOUND = 3 };

struct cli_option {
	const char *name; /* "output" is --output */
	char letter; /* 'o' is -o; 0: none */
	const char *argument; /* "FILE"; NULL: it takes none.  Shells complete FILE, DIR and USER as
				 such */
	const char *help; /* a few words */
	size_t offset; /* into the target: a bool if it takes none, else a const char * */
	/* Checks and keeps an argument itself, at the offset; NULL: as it is.  -EINVAL: err says
	 * why. */
	int (*parse)(const char *text, void *at, struct error *err);
	/* Where only some words will do, the one at @i of those that go with the @target, or NULL
	 * behind the last; a LIST is several with commas between.  NULL: there is no such set. */
	const char *(*word)(const void *target, size_t i);
};

struct cli_options { /* options that share a target */
	const struct cli_option *rows;
	size_t count;
	void *target;
};

struct cli_term { /* of what a command prints */
	const char *word, *text;
};

struct cli_command {
	const char *program; /* "jobmeter-agent"; NULL: it is a command of jobmeter */
	const char *name; /* NULL: of a program that has no commands */
	const char *arguments; /* "[OPTION...] FILE..." */
	const char *summary; /* a line without a period */
	const char *details; /* what help says behind the options, or NULL */
	const struct cli_term *terms; /* what its lines mean, up to one without a word; or NULL */
	bool is_for_command; /* the first operand ends the options: the rest is another's command
				line */
	int (*run)(const struct cli_command *command, int argc, char **argv); /* returns a cli_exit
									       */
	/* Answers --help with the options of the command; NULL: as help to people. */
	void (*show)(const struct cli_command *command, const struct cli_options *groups,
		     size_t group_count);
};

extern const struct cli_option cli_help_option; /* which each command has besides */

/* Take the options out of *argv, whose first entry is the command's own name; *argc operands and a
 * NULL remain.  Arguments are not copied.  "--" ends the options.
 * Returns 1: continue; 0: --help has been answered; -EINVAL: *err says in one line what is wrong.
 */
int cli_parse(const struct cli_command *command, const struct cli_options *groups,
	      size_t group_count, int *argc, char **argv, struct error *err);

/* Say what failed, as "PROGRAM COMMAND: TEXT" (no @command: "jobmeter: TEXT") in one line on the
 * standard error, without control characters. */
void cli_say(const struct cli_command *command, const struct error *err);

/* The same, and return CLI_FAILED, CLI_USAGE, or CLI_FOUND: a check that was asked for found
 * something. */
int cli_fail(const struct cli_command *command, const struct error *err);
int cli_misuse(const struct cli_command *command, const struct error *err);
int cli_found(const struct cli_command *command, const struct error *err);
