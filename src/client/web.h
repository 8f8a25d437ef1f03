/* SPDX-License-Identifier: MIT */
/* web - asks a server by HTTP: a GET or POST by libcurl, which is loaded here, so that commands
 * without a request do not have it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;
struct reply;
struct web;

/* "https://host:9841" or "http://..." */
bool web_is_url(const char *text);

/* Where @url begins, without its path.  The token is that of $XDG_CONFIG_HOME/jobmeter/token
 * (without it ~/.config/...); without the file there is none.  $JOBMETER_SERVER_CA: certificates
 * that are trusted in the place of the system's.  -EPERM: others can read the token, or it would
 * go out unencrypted; -ENOENT: there is no libcurl. */
int web_open(const char *url, size_t answer_max, struct web **ret, struct error *err);
struct web *web_close(struct web *w); /* NULL is fine; returns NULL */

/* @target: a path with its query; @body: a map of JSON that is posted, NULL: it is a GET.  *ret
 * begins as {} and is the caller's to clear, also after an error; the answer's status is 200.
 * -ENOENT: the server has no such thing; -EACCES: it wants another token; -EIO: no answer. */
int web_ask(struct web *w, const char *target, const char *body, int timeout_ms, struct reply *ret,
	    struct error *err);
