/* SPDX-License-Identifier: MIT */
#include "basic/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "basic/error.h"

int library_load(const char *const *files, const char *const *names, size_t count, void *ret,
		 struct error *err)
{
	const char *first = *files;
	void *handle = NULL;

	while (!handle && *files)
		handle = dlopen(*files++, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return error_set(err, -ENOENT, "%s is not installed here", first);
	for (size_t i = 0; i < count; i++) {
		void *symbol = dlsym(handle, names[i]);

		if (!symbol)
			return error_set(err, -ENOENT, "this machine's %s has no '%s'", first,
					 names[i]);
		memcpy((char *)ret + i * sizeof(symbol), &symbol, sizeof(symbol));
	}
	return 0;
}
