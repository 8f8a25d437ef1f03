/* SPDX-License-Identifier: MIT */
/*
 * chain - run programs one after the other, and do nothing else
 *
 *	chain PROGRAM [ARGUMENT...] [, PROGRAM [ARGUMENT...]]...
 *
 * A shell would look for them, and read; here no file is touched, but for what a C library's start
 *asks.  A PROGRAM is a path.  Ends with 1 at the first that does not end well.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(char **argv)
{
	int status = 0;
	pid_t child = fork();

	if (child < 0)
		return 1;
	if (child == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	return waitpid(child, &status, 0) != child || status != 0;
}

int main(int argc, char **argv)
{
	for (int begin = 1, end; begin < argc; begin = end + 1) {
		for (end = begin; end < argc && strcmp(argv[end], ",") != 0; end++)
			;
		argv[end] = NULL;
		if (end == begin || run(argv + begin) != 0)
			return 1;
	}
	return argc < 2;
}
