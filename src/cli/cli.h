/* SPDX-License-Identifier: MIT */
/*
 * cli - commands and their options, from tables: parsing and help share them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

enum cli_exit { CLI_WELL = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

struct cli_option {
	const char *name;     /* "output" is --output */
	char letter;	      /* 'o' is -o; 0: none */
	const char *argument; /* "FILE"; NULL: it takes none */
	const char *help;     /* a few words */
	size_t offset;	      /* into the target: a bool if it takes none, else a const char * */
	/* Checks and keeps an argument itself, at the offset; NULL: as it is.  -EINVAL: err says
	 * why. */
	int (*parse)(const char *text, void *at, struct error *err);
};

struct cli_options { /* options that share a target */
	const struct cli_option *rows;
	size_t count;
	void *target;
};

struct cli_command {
	const char *name;
	const char *arguments; /* "[OPTION...] FILE..." */
	const char *summary;   /* a line without a period */
	const char *details;   /* what help says behind the options, or NULL */
	bool is_for_command;   /* the first operand ends the options: the rest is another's command
				  line */
	int (*run)(const struct cli_command *command, int argc,
		   char **argv); /* returns a cli_exit */
};

/* Take the options out of *argv, whose first entry is the command's own name; its operands are what
 * is left, *argc of them, and a NULL.  Arguments are not copied.  "--" ends the options.
 * Returns 1: go on; 0: --help has been answered; -EINVAL: *err says in one line what is wrong. */
int cli_parse(const struct cli_command *command, const struct cli_options *groups,
	      size_t group_count, int *argc, char **argv, struct error *err);

/* Say what failed, as "jobmeter COMMAND: TEXT" (no @command: "jobmeter: TEXT") in one line on the standard
 * error, without control characters. */
void cli_say(const struct cli_command *command, const struct error *err);

/* The same, and return CLI_FAILED or (for cli_misuse)
 * CLI_USAGE. */
int cli_fail(const struct cli_command *command, const struct error *err);
int cli_misuse(const struct cli_command *command, const struct error *err);
