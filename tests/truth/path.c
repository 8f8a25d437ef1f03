/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "path.h"

void path_make(struct path *path, const char *folder, const char *worker, const char *what)
{
	char *end = stpncpy(path->text, folder, PATH_BYTES - 128);

	*end++ = '/';
	path->name = end;
	end = stpncpy(stpcpy(end, "truth-"), worker, 64);
	*end++ = '-';
	stpncpy(end, what, 31)[0] = '\0';
}
