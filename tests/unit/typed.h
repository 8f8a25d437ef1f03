/* SPDX-License-Identifier: MIT */
/* typed - command lines as somebody types them, for tests of commands. */
#pragma once

#include <stddef.h>

struct cli_command;

/* Run a command with the words of @line, which may begin with DATA and OUT for directories; what it
 * printed to either stream is *ret (may be NULL).  Returns the exit code. */
int typed(const struct cli_command *command, const char *line, char **ret);

/* The same, which ends in @code and prints all of the texts behind the line in @words, up to NULL.
 * Returns what it printed, until the eighth call after this one. */
const char *typed_tells(const struct cli_command *command, int code, const char *const words[],
			const char *file, int line);
#define ASSERT_TYPED(command, code, ...)                                                      \
	typed_tells(&(command), (code), (const char *const[]){ __VA_ARGS__, NULL }, __FILE__, \
		    __LINE__)

/* What stands in the file of that name in OUT; the caller frees. */
char *typed_contents(const char *name);

/* Command lines that end in @code and print @text. */
struct typed_row {
	const char *line;
	int code;
	const char *text;
};

void typed_rows(const struct cli_command *command, const struct typed_row *rows, size_t count);
