/* SPDX-License-Identifier: MIT */
/* libcurl, loaded with dlopen() on first use, so that commands without HTTP neither map it nor need
 * it installed. */
#pragma once

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

struct error;

struct libcurl { /* the functions in use */
	__typeof__(curl_global_init) *global_init;
	__typeof__(curl_easy_init) *easy_init;
	__typeof__(curl_easy_setopt) *set;
	__typeof__(curl_easy_perform) *perform;
	__typeof__(curl_easy_getinfo) *get;
	__typeof__(curl_easy_strerror) *describe;
	__typeof__(curl_easy_cleanup) *cleanup;
	__typeof__(curl_slist_append) *append;
};

/* It stays loaded as long as the process lives, and is ready to use.  -ENOENT: it is not installed,
 * or too old; *err says what to install. */
int libcurl_load(struct libcurl *ret, struct error *err);
