/* SPDX-License-Identifier: MIT */
#include "spool/transfer.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"

#define PATH "/api/v1/records"
#define CONNECT_S 10L
#define WHOLE_S 120L

/* What is taken of the library, by name. */
struct library {
	void *handle;
	CURLcode (*global_init)(long flags);
	CURL *(*easy_init)(void);
	void (*easy_cleanup)(CURL *handle);
	void (*easy_reset)(CURL *handle);
	CURLcode (*set)(CURL *handle, CURLoption option, ...);
	CURLcode (*perform)(CURL *handle);
	CURLcode (*get)(CURL *handle, CURLINFO info, ...);
	const char *(*describe)(CURLcode code);
	struct curl_slist *(*append)(struct curl_slist *list, const char *text);
	void (*free_all)(struct curl_slist *list);
};

#define SYMBOL(member, name)                           \
	{                                              \
		name, offsetof(struct library, member) \
	}
static const struct symbol {
	const char *name;
	size_t offset;
} symbols[] = {
	SYMBOL(global_init, "curl_global_init"),   SYMBOL(easy_init, "curl_easy_init"),
	SYMBOL(easy_cleanup, "curl_easy_cleanup"), SYMBOL(easy_reset, "curl_easy_reset"),
	SYMBOL(set, "curl_easy_setopt"),	   SYMBOL(perform, "curl_easy_perform"),
	SYMBOL(get, "curl_easy_getinfo"),	   SYMBOL(describe, "curl_easy_strerror"),
	SYMBOL(append, "curl_slist_append"),	   SYMBOL(free_all, "curl_slist_free_all"),
};

struct transfer {
	struct transfer_options options;
	struct library curl;
	CURL *handle;
	char *url;
	char why[CURL_ERROR_SIZE];
};

static int load(struct library *ret, struct error *err)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
	struct library library = {};

	for (size_t i = 0; !library.handle && i < ARRAY_SIZE(names); i++)
		library.handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library.handle)
		return error_set(err, -ENOENT,
				 "nothing can be sent without libcurl, which is not installed here "
				 "(Debian's libcurl4)");
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		void *symbol = dlsym(library.handle, symbols[i].name);

		if (!symbol)
			return error_set(err, -ENOENT,
					 "nothing can be sent: this node's libcurl has no '%s'",
					 symbols[i].name);
		memcpy((char *)&library + symbols[i].offset, &symbol, sizeof(symbol));
	}
	*ret = library;
	return 0;
}

struct transfer *transfer_close(struct transfer *t)
{
	if (!t)
		return NULL;
	if (t->handle)
		t->curl.easy_cleanup(t->handle);
	free(t->url);
	free(t); /* the library stays: it may have threads */
	return NULL;
}

int transfer_open(const struct transfer_options *options, struct transfer **ret, struct error *err)
{
	struct transfer *t = calloc(1, sizeof(*t));
	int r = t ? load(&t->curl, err) : -ENOMEM;

	if (r >= 0) {
		t->options = *options;
		if (asprintf(&t->url, "%s" PATH, options->url) < 0)
			t->url = NULL;
		if (t->url && t->curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
			t->handle = t->curl.easy_init();
		if (!t->handle)
			r = error_set(err, -ENOMEM, "libcurl cannot begin");
	}
	if (r < 0) {
		transfer_close(t);
		return r;
	}
	*ret = t;
	return 0;
}

void transfer_answer_clear(struct transfer_answer *a)
{
	free(a->text);
	*a = (struct transfer_answer){};
}

static size_t take_text(char *text, size_t size, size_t count, void *context)
{
	struct transfer_answer *a = context;
	size_t length = size * count;
	char *larger;

	if (length > TRANSFER_ANSWER_MAX - a->length)
		return 0; /* which ends the transfer */
	larger = realloc(a->text, a->length + length + 1);
	if (!larger)
		return 0;
	a->text = larger;
	memcpy(a->text + a->length, text, length);
	a->length += length;
	a->text[a->length] = '\0';
	return length;
}

static bool add_header(const struct library *curl, struct curl_slist **list, const char *text)
{
	struct curl_slist *longer = curl->append(*list, text);

	if (longer)
		*list = longer;
	return longer;
}

static int make_headers(const struct library *curl, const char *token, struct curl_slist **ret)
{
	_cleanup_free_ char *authorization = NULL;
	struct curl_slist *list = NULL;
	time_t now = time(NULL);
	char date[64]; /* by our clock, which the server compares with its own */
	bool is_made = strftime(date, sizeof(date), "Date: %a, %d %b %Y %H:%M:%S GMT",
				gmtime(&now)) &&
		       add_header(curl, &list, date) &&
		       add_header(curl, &list, "Content-Type: application/x-ndjson") &&
		       add_header(curl, &list, "Content-Encoding: gzip") &&
		       add_header(curl, &list, "User-Agent: jobmeter-agent/" JOBMETER_VERSION) &&
		       add_header(curl, &list, "Expect:");

	if (is_made && *token) {
		if (asprintf(&authorization, "Authorization: Bearer %s", token) < 0)
			authorization = NULL;
		is_made = authorization && add_header(curl, &list, authorization);
	}
	if (!is_made) {
		curl->free_all(list);
		return -ENOMEM;
	}
	*ret = list;
	return 0;
}

static void set_options(struct transfer *t, struct curl_slist *headers, const void *body,
			size_t length, struct transfer_answer *answer)
{
	const struct library *curl = &t->curl;

	curl->easy_reset(t->handle); /* which keeps the connection */
	curl->set(t->handle, CURLOPT_URL, t->url);
	curl->set(t->handle, CURLOPT_HTTPHEADER, headers);
	curl->set(t->handle, CURLOPT_POST, 1L);
	curl->set(t->handle, CURLOPT_POSTFIELDS, body);
	curl->set(t->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
	curl->set(t->handle, CURLOPT_WRITEFUNCTION, take_text);
	curl->set(t->handle, CURLOPT_WRITEDATA, answer);
	curl->set(t->handle, CURLOPT_ERRORBUFFER, t->why);
	curl->set(t->handle, CURLOPT_NOSIGNAL, 1L);
	curl->set(t->handle, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	curl->set(t->handle, CURLOPT_TIMEOUT, WHOLE_S);
	curl->set(t->handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl->set(t->handle, CURLOPT_PROXY, ""); /* none that some environment names */
	if (*t->options.ca)
		curl->set(t->handle, CURLOPT_CAINFO, t->options.ca);
}

static void read_answer(const struct transfer *t, struct transfer_answer *ret)
{
	curl_off_t after = 0;
	char *type = NULL;
	long status = 0;

	t->curl.get(t->handle, CURLINFO_RESPONSE_CODE, &status);
	t->curl.get(t->handle, CURLINFO_RETRY_AFTER, &after);
	t->curl.get(t->handle, CURLINFO_CONTENT_TYPE, &type);
	ret->status = status > 0 && status < 1000 ? (unsigned int)status : 0;
	ret->retry_after_s = after > 0 ? (unsigned int)MIN(after, (curl_off_t)86400) : 0;
	ret->is_ndjson = type && strncasecmp(type, "application/x-ndjson",
					     strlen("application/x-ndjson")) == 0;
}

int transfer_post(struct transfer *t, const char *token, const void *body, size_t length,
		  struct transfer_answer *ret, struct error *err)
{
	struct curl_slist *headers = NULL;
	CURLcode code;

	if (make_headers(&t->curl, token, &headers) < 0)
		return error_set_errno(err, ENOMEM, "cannot send to '%s'", t->options.url);
	*t->why = '\0';
	set_options(t, headers, body, length, ret);
	code = t->curl.perform(t->handle);
	t->curl.free_all(headers);
	read_answer(t, ret);
	if (code == CURLE_OK)
		return 0;
	return error_set(err, -EIO, "cannot send to '%s': %s", t->options.url,
			 *t->why ? t->why : t->curl.describe(code));
}
