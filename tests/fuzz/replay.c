/* SPDX-License-Identifier: MIT */
/* Run a fuzz target over the files of directories: its corpus as a test, with any compiler. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/file.h"
#include "fuzz.h"

#define SIZE_MAX_OF_INPUT (1 << 20)

static int replay(int dir_fd, const char *name)
{
	_cleanup_free_ char *text = NULL;
	uint8_t *exact;
	size_t length;
	int r = file_read(dir_fd, name, SIZE_MAX_OF_INPUT, &text, &length);

	if (r < 0) {
		fprintf(stderr, "%s: %s\n", name, strerror(-r));
		return 1;
	}
	exact = malloc(length ? length : 1); /* no NUL behind, so that a sanitizer sees the end */
	memcpy(exact, text, length);
	LLVMFuzzerTestOneInput(exact, length);
	free(exact);
	return 0;
}

int main(int argc, char **argv)
{
	int count = 0, failed = 0;

	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);

		if (!dir) {
			fprintf(stderr, "usage: replay DIR...\n");
			return 2;
		}
		for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
			if (entry->d_type != DT_REG)
				continue;
			count++;
			failed += replay(dirfd(dir), entry->d_name);
		}
		closedir(dir);
	}
	printf("%d inputs\n", count);
	return failed || !count;
}
