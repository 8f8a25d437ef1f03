/* SPDX-License-Identifier: MIT */
#include "basic/libcurl.h"

#include <assert.h>
#include <errno.h>

#include "basic/error.h"
#include "basic/library.h"
#include "basic/macro.h"

static const char *const files[] = { "libcurl.so.4", "libcurl-gnutls.so.4", NULL };
static const char *const names[] = { "curl_global_init",  "curl_easy_init",    "curl_easy_setopt",
				     "curl_easy_perform", "curl_easy_getinfo", "curl_easy_strerror",
				     "curl_easy_cleanup", "curl_slist_append" };
static_assert(sizeof(struct libcurl) == sizeof(names), "a name for each, in their order");

int libcurl_load(struct libcurl *ret, struct error *err)
{
	int r = library_load(files, names, ARRAY_SIZE(names), ret, err);

	if (r < 0)
		return error_prefix(err, r, "libcurl (Debian's libcurl4)");
	if (ret->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return error_set(err, -ENOMEM, "libcurl cannot begin");
	return 0;
}
