/* SPDX-License-Identifier: MIT */
#include "spool/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "basic/error.h"
#include "basic/libcurl.h"
#include "basic/macro.h"

#define TYPE "application/x-ndjson"
#define CONNECT_S 10L
#define WHOLE_S 120L
#define RETRY_MAX_S 86400

struct transfer {
	struct libcurl curl;
	CURL *handle;
	struct curl_slist *headers; /* but for the date and the next */
	char url[1024], authorization[4096], why[CURL_ERROR_SIZE];
};

static size_t take_text(char *text, size_t size, size_t count, void *context)
{
	struct transfer_answer *a = context;

	if (size * count > sizeof(a->text) - a->length)
		return 0; /* which ends the transfer */
	memcpy(a->text + a->length, text, size * count);
	a->length += size * count;
	return size * count;
}

static int make_headers(const struct libcurl *curl, struct curl_slist **ret)
{
	static const char type[] = "Content-Type: " TYPE;
	const char *const lines[] = { type, "Content-Encoding: gzip", "Expect:" };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct curl_slist *longer = curl->append(*ret, lines[i]);

		if (!longer)
			return -ENOMEM;
		*ret = longer;
	}
	return 0;
}

void transfer_authorize(struct transfer *t, const char *authorization)
{
	*t->authorization = '\0';
	if (*authorization)
		snprintf(t->authorization, sizeof(t->authorization), "Authorization: %s",
			 authorization);
}

int transfer_open(const char *url, const char *ca, struct transfer **ret, struct error *err)
{
	struct transfer *t = calloc(1, sizeof(*t));
	struct libcurl *curl = &t->curl;
	int r = t ? libcurl_load(curl, err) : -ENOMEM;

	if (r < 0)
		return error_prefix(err, r, "nothing can be sent");
	t->handle = curl->easy_init();
	if (!t->handle || make_headers(curl, &t->headers) < 0)
		return error_set(err, -ENOMEM, "libcurl cannot begin");
	snprintf(t->url, sizeof(t->url), "%s/api/v1/records", url);
	curl->set(t->handle, CURLOPT_URL, t->url);
	curl->set(t->handle, CURLOPT_USERAGENT, "jobmeter-agent/" JOBMETER_VERSION);
	curl->set(t->handle, CURLOPT_WRITEFUNCTION, take_text);
	curl->set(t->handle, CURLOPT_ERRORBUFFER, t->why);
	curl->set(t->handle, CURLOPT_NOSIGNAL, 1L);
	curl->set(t->handle, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	curl->set(t->handle, CURLOPT_TIMEOUT, WHOLE_S);
	curl->set(t->handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl->set(t->handle, CURLOPT_PROXY, ""); /* none that some environment names */
	if (*ca)
		curl->set(t->handle, CURLOPT_CAINFO, ca);
	*ret = t;
	return 0;
}

int transfer_post(void *transfer, const void *body, size_t length, struct transfer_answer *ret,
		  struct error *err)
{
	struct transfer *t = transfer;
	char date[64]; /* by our clock, which the server compares with its own */
	struct curl_slist headers = { .data = date, .next = t->headers },
			  first = { .data = t->authorization, .next = &headers };
	time_t now = time(NULL);
	struct tm utc;
	curl_off_t after = 0;
	char *type = NULL;
	long status = 0;
	CURLcode code;

	strftime(date, sizeof(date), "Date: %a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &utc));
	*t->why = '\0';
	ret->length = 0;
	t->curl.set(t->handle, CURLOPT_HTTPHEADER, *t->authorization ? &first : &headers);
	t->curl.set(t->handle, CURLOPT_POSTFIELDS, body); /* which makes it a POST */
	t->curl.set(t->handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
	t->curl.set(t->handle, CURLOPT_WRITEDATA, ret);
	code = t->curl.perform(t->handle);
	t->curl.get(t->handle, CURLINFO_RESPONSE_CODE, &status);
	t->curl.get(t->handle, CURLINFO_RETRY_AFTER, &after);
	t->curl.get(t->handle, CURLINFO_CONTENT_TYPE, &type);
	ret->status = status > 0 && status < 1000 ? (unsigned int)status : 0;
	ret->retry_after_s = (unsigned int)MIN(MAX(after, (curl_off_t)0), (curl_off_t)RETRY_MAX_S);
	ret->is_ndjson = type && strncasecmp(type, TYPE, strlen(TYPE)) == 0;
	if (code == CURLE_OK)
		return 0;
	return error_set(err, -EIO, "cannot send to '%s': %s", t->url,
			 *t->why ? t->why : t->curl.describe(code));
}
