/* SPDX-License-Identifier: MIT */
#include "client/web.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/libcurl.h"
#include "basic/macro.h"
#include "client/reply.h"
#include "model/json_place.h"

#define CONNECT_MS 10000L
#define TOKEN_MAX 1024
#define HTTP "http://"
#define HTTPS "https://"

struct web {
	struct libcurl curl;
	CURL *handle;
	char *url; /* without what stands behind the host */
	char authorization[TOKEN_MAX + sizeof("Authorization: Bearer ")]; /* "": none */
	char why[CURL_ERROR_SIZE];
};

bool web_is_url(const char *text)
{
	return strncmp(text, HTTP, strlen(HTTP)) == 0 || strncmp(text, HTTPS, strlen(HTTPS)) == 0;
}

/* Nobody between us and the server reads what goes there. */
static bool is_private(const char *url)
{
	static const char *const hosts[] = { "127.0.0.1", "[::1]", "localhost" };

	if (strncmp(url, HTTP, strlen(HTTP)) != 0)
		return true;
	url += strlen(HTTP);
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		if (strncmp(url, hosts[i], strlen(hosts[i])) == 0 &&
		    (url[strlen(hosts[i])] == ':' || !url[strlen(hosts[i])]))
			return true;
	}
	return false;
}

/* ---- the token ---- */

static int take_token(struct web *w, const char *text, const char *path, struct error *err)
{
	size_t length = strcspn(text, "\n");

	if (!length || text[length + (text[length] == '\n')])
		return error_set(err, -EINVAL, "the token '%s' is not one line", path);
	for (size_t i = 0; i < length; i++) {
		if (text[i] <= ' ' || text[i] >= 127)
			return error_set(err, -EINVAL,
					 "the token '%s' has other than plain letters", path);
	}
	snprintf(w->authorization, sizeof(w->authorization), "Authorization: Bearer %.*s",
		 (int)length, text);
	return 0;
}

static int read_token(struct web *w, struct error *err)
{
	_cleanup_free_ char *path = file_find_config("token"), *text = NULL;
	_cleanup_close_ int fd = -EBADF;
	struct stat st;
	size_t length;
	int r;

	fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	if (fd < 0 && (!path || errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "cannot read the token '%s'", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "the token '%s' is no plain file", path);
	if (st.st_mode & 077)
		return error_set(err, -EPERM, "the token '%s' can be read by others (chmod 0600)",
				 path);
	r = file_read_fd(fd, TOKEN_MAX, &text, &length);
	return r < 0 ? error_set_errno(err, r, "cannot read the token '%s'", path)
		     : take_token(w, text, path, err);
}

/* ---- asking ---- */

static size_t take_text(char *text, size_t size, size_t count, void *context)
{
	/* what is not taken ends it */
	return reply_add(context, text, size * count) < 0 ? 0 : size * count;
}

int web_open(const char *url, size_t answer_max, struct web **ret, struct error *err)
{
	struct web *w = calloc(1, sizeof(*w));
	const char *authority = strstr(url, "://") + strlen("://"), *ca = NULL;
	int r;

	if (!w || !(w->url = strndup(url, (size_t)(authority - url) + strcspn(authority, "/?#")))) {
		web_close(w);
		return error_set_errno(err, ENOMEM, "cannot ask '%s'", url);
	}
	r = libcurl_load(&w->curl, err);
	if (r == 0)
		r = read_token(w, err);
	if (r == 0 && strchr(w->url, '@')) /* what looks like a host may be a user's name */
		r = error_set(err, -EINVAL, "'%s': a URL with a user's name is not taken", w->url);
	if (r == 0 && *w->authorization && !is_private(w->url))
		r = error_set(err, -EPERM,
			      "'%s': a token goes over https:// only, beyond this machine", w->url);
	if (r == 0 && !(w->handle = w->curl.easy_init()))
		r = error_set(err, -ENOMEM, "libcurl cannot begin");
	if (r < 0) {
		web_close(w);
		return r;
	}
	ca = getenv("JOBMETER_SERVER_CA");
	w->curl.set(w->handle, CURLOPT_USERAGENT, "jobmeter/" JOBMETER_VERSION);
	w->curl.set(w->handle, CURLOPT_WRITEFUNCTION, take_text);
	w->curl.set(w->handle, CURLOPT_ERRORBUFFER, w->why);
	w->curl.set(w->handle, CURLOPT_NOSIGNAL, 1L);
	w->curl.set(w->handle, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	w->curl.set(w->handle, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)answer_max);
	w->curl.set(w->handle, CURLOPT_ACCEPT_ENCODING, "gzip");
	w->curl.set(w->handle, CURLOPT_PROXY, "");
	if (ca && *ca)
		w->curl.set(w->handle, CURLOPT_CAINFO, ca);
	*ret = w;
	return 0;
}

struct web *web_close(struct web *w)
{
	if (!w)
		return NULL;
	if (w->handle)
		w->curl.cleanup(w->handle);
	explicit_bzero(w->authorization, sizeof(w->authorization));
	free(w->url);
	free(w);
	return NULL;
}

/* {"error": "..."} */
static int say_refusal(const struct web *w, const struct reply *reply, struct error *err)
{
	_cleanup_(json_freep)
		json_t *root = reply->text ? json_loadb(reply->text, reply->length, 0, NULL) : NULL;
	const char *words = json_string_value(json_object_get(root, "error"));
	int code = reply->status == 404				  ? -ENOENT
		   : reply->status == 401 || reply->status == 403 ? -EACCES
								  : -EPROTO;

	if (!words)
		return error_set(err, code, "the server '%s' answers with status %u", w->url,
				 reply->status);
	return error_set(err, code, "the server '%s': %.256s%s", w->url, words,
			 reply->status == 401 && !*w->authorization ? " (~/.config/jobmeter/token)"
								    : "");
}

int web_ask(struct web *w, const char *target, const char *body, int timeout_ms, struct reply *ret,
	    struct error *err)
{
	static char type[] = "Content-Type: application/json";
	_cleanup_free_ char *url = NULL;
	struct curl_slist of_type = { .data = type };
	struct curl_slist header = { .data = w->authorization, .next = body ? &of_type : NULL };
	long status = 0;
	CURLcode code;

	if (asprintf(&url, "%s%s", w->url, target) < 0) {
		url = NULL;
		return error_set_errno(err, ENOMEM, "cannot ask '%s'", w->url);
	}
	*w->why = '\0';
	w->curl.set(w->handle, CURLOPT_URL, url);
	w->curl.set(w->handle, CURLOPT_HTTPHEADER, *w->authorization ? &header : header.next);
	w->curl.set(w->handle, body ? CURLOPT_POST : CURLOPT_HTTPGET, 1L);
	if (body)
		w->curl.set(w->handle, CURLOPT_POSTFIELDS, body);
	w->curl.set(w->handle, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	w->curl.set(w->handle, CURLOPT_WRITEDATA, ret);
	code = w->curl.perform(w->handle);
	w->curl.set(w->handle, CURLOPT_HTTPHEADER, NULL);
	w->curl.get(w->handle, CURLINFO_RESPONSE_CODE, &status);
	if (code != CURLE_OK)
		return error_set(err, -EIO, "cannot reach the server '%s': %s", w->url,
				 *w->why ? w->why : w->curl.describe(code));
	ret->status = (unsigned int)status;
	return status == 200 ? 0 : say_refusal(w, ret, err);
}
