/* SPDX-License-Identifier: MIT */
#include "basic/libcurl.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "basic/error.h"
#include "basic/macro.h"

static const char *const names[] = { "curl_global_init",  "curl_easy_init",    "curl_easy_setopt",
				     "curl_easy_perform", "curl_easy_getinfo", "curl_easy_strerror",
				     "curl_easy_cleanup", "curl_slist_append" };
static_assert(sizeof(struct libcurl) == sizeof(names), "a name for each, in their order");

int libcurl_load(struct libcurl *ret, struct error *err)
{
	void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		handle = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return error_set(err, -ENOENT, "libcurl is not installed here (Debian's libcurl4)");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		void *symbol = dlsym(handle, names[i]);

		if (!symbol)
			return error_set(err, -ENOENT, "this node's libcurl has no '%s'", names[i]);
		memcpy((char *)ret + i * sizeof(symbol), &symbol, sizeof(symbol));
	}
	if (ret->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return error_set(err, -ENOMEM, "libcurl cannot begin");
	return 0;
}
