/* SPDX-License-Identifier: MIT */
#include "typed.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/cli.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "test.h"

#define ARGUMENTS_MAX 16

int typed(const struct cli_command *command, const char *line, char **ret)
{
	_cleanup_free_ char *copy = strdup(line);
	char *argv[ARGUMENTS_MAX] = { (char *)(uintptr_t)command->name }, *save = NULL,
	     words[ARGUMENTS_MAX][300], path[300];
	int argc = 1, saved[2] = { dup(1), dup(2) }, fd, code;

	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		bool is_data = strncmp(word, "DATA", 4) == 0, is_out = strncmp(word, "OUT", 3) == 0;

		snprintf(words[argc], sizeof(words[argc]), "%s%s",
			 is_data  ? TEST_DATA
			 : is_out ? test_dir()
				  : "",
			 word + (is_data  ? 4
				 : is_out ? 3
					  : 0));
		argv[argc] = words[argc];
		argc++;
	}
	setenv("TZ", "UTC", 1);
	setenv("XDG_STATE_HOME", test_dir(), 1);
	setenv("XDG_CONFIG_HOME", test_dir(), 1);
	setenv("JOBMETER_SERVER_SOCKET", "/nonexistent/server.sock", 0);
	setenv("JOBMETER_INSIGHTS", "", 0); /* unless the test names one */
	snprintf(path, sizeof(path), "%s/printed", test_dir());
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fflush(stdout);
	dup2(fd, 1);
	dup2(fd, 2);
	close(fd);
	code = command->run(command, argc, argv);
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		dup2(saved[i], i + 1);
		close(saved[i]);
	}
	if (ret)
		ASSERT_OK(file_read(AT_FDCWD, path, 1 << 20, ret, NULL));
	return code;
}

const char *typed_tells(const struct cli_command *command, int code, const char *const words[],
			const char *file, int line)
{
	static char *printed[8];
	static size_t count;
	char **text = &printed[count++ % ARRAY_SIZE(printed)];

	free(*text);
	*text = NULL;
	test_int(typed(command, words[0], text), code, words[0], "its code", file, line);
	for (size_t i = 1; words[i]; i++)
		test_contains(*text, words[i], true, file, line);
	return *text;
}

void typed_rows(const struct cli_command *command, const struct typed_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_free_ char *text = NULL;

		ASSERT_EQ(typed(command, rows[i].line, &text), rows[i].code);
		ASSERT_CONTAINS(text, rows[i].text);
	}
}

char *typed_contents(const char *name)
{
	char *text = NULL;

	ASSERT_OK(file_read(AT_FDCWD, test_path(name), 1 << 20, &text, NULL));
	return text;
}
