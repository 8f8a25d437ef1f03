/* SPDX-License-Identifier: MIT */
/* offered - the options that a command offers, in the order of its help. */
#pragma once

#include <stddef.h>

#include "basic/cli.h"

#define OFFERED_MAX 32
#define OFFERED_WORDS_MAX 48

struct offered_option {
	const struct cli_option *row;
	const char *words[OFFERED_WORDS_MAX]; /* what it takes, where only these will do */
	size_t word_count;
};

struct offered {
	struct cli_command command; /* a copy */
	struct offered_option options[OFFERED_MAX];
	size_t count;
};

/* Asks @command itself, by its --help. */
void offered_read(const struct cli_command *command, struct offered *ret);

/* What its operands are: "COMMAND" (the rest is another's command line), "FILE", or "": it takes
 * none. */
const char *offered_operands(const struct offered *offered);

/* All commands of @program ("jobmeter", "jobmeter-agent", "jobmeter-server"), in an array that the
 * caller frees; 0: there is none. */
size_t offered_read_program(const char *program, struct offered **ret);

/* "run", or "" of a program without commands. */
const char *offered_name(const struct offered *offered);
