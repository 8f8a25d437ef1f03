/* SPDX-License-Identifier: MIT */
#include "basic/transfer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "basic/error.h"
#include "basic/libcurl.h"
#include "basic/macro.h"

#define LINES "application/x-ndjson"
#define CONNECT_S 10L
#define RETRY_MAX_S 86400
#if LIBCURL_VERSION_NUM < 0x075700 /* an older library refuses it, which does no harm */
#define CURLOPT_QUICK_EXIT ((CURLoption)(CURLOPTTYPE_LONG + 322))
#endif

struct transfer {
	struct libcurl curl;
	CURL *handle;
	struct curl_slist *headers; /* but for the date and the next */
	bool (*must_stop)(void *context);
	void *context;
	char url[1024], authorization[4096], note[TRANSFER_NOTE_MAX], why[CURL_ERROR_SIZE];
};

size_t transfer_take_text(char *text, size_t size, size_t count, void *context)
{
	struct transfer_answer *a = context;

	if (size * count > sizeof(a->text) - a->length)
		return 0; /* which ends the transfer */
	memcpy(a->text + a->length, text, size * count);
	a->length += size * count;
	return size * count;
}

/* Not 0 ends the transfer. */
static int look_whether_to_stop(void *context, curl_off_t to_come UNUSED, curl_off_t come UNUSED,
				curl_off_t to_go UNUSED, curl_off_t gone UNUSED)
{
	const struct transfer *t = context;

	return t->must_stop(t->context);
}

static int make_headers(const struct libcurl *curl, const char *type, struct curl_slist **ret)
{
	char content[128];
	const char *const lines[] = { content, "Content-Encoding: gzip", "Expect:" };

	snprintf(content, sizeof(content), "Content-Type: %s", type);
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

void transfer_note(struct transfer *t, const char *header)
{
	snprintf(t->note, sizeof(t->note), "%s", strlen(header) < sizeof(t->note) ? header : "");
}

int transfer_open(const struct transfer_options *options, struct transfer **ret, struct error *err)
{
	struct transfer *t = calloc(1, sizeof(*t));
	struct libcurl *curl = &t->curl;
	int r = t ? libcurl_load(curl, err) : -ENOMEM;

	if (r < 0)
		return error_prefix(err, r, "nothing can be sent");
	t->handle = curl->easy_init();
	if (!t->handle || make_headers(curl, options->type, &t->headers) < 0)
		return error_set(err, -ENOMEM, "libcurl cannot begin");
	snprintf(t->url, sizeof(t->url), "%s", options->url);
	curl->set(t->handle, CURLOPT_URL, t->url);
	curl->set(t->handle, CURLOPT_USERAGENT, options->agent);
	curl->set(t->handle, CURLOPT_WRITEFUNCTION, transfer_take_text);
	curl->set(t->handle, CURLOPT_ERRORBUFFER, t->why);
	curl->set(t->handle, CURLOPT_NOSIGNAL, 1L);
	curl->set(t->handle, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
	curl->set(t->handle, CURLOPT_TIMEOUT, (long)options->timeout_s);
	curl->set(t->handle, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl->set(t->handle, CURLOPT_PROXY, ""); /* none that some environment names */
	if (*options->ca)
		curl->set(t->handle, CURLOPT_CAINFO, options->ca);
	if (options->must_stop) {
		t->must_stop = options->must_stop;
		t->context = options->context;
		curl->set(t->handle, CURLOPT_XFERINFOFUNCTION, look_whether_to_stop);
		curl->set(t->handle, CURLOPT_XFERINFODATA, t);
		curl->set(t->handle, CURLOPT_NOPROGRESS, 0L);
		/* do not wait for a name server then */
		curl->set(t->handle, CURLOPT_QUICK_EXIT, 1L);
	}
	*ret = t;
	return 0;
}

int transfer_post(void *transfer, const void *body, size_t length, struct transfer_answer *ret,
		  struct error *err)
{
	struct transfer *t = transfer;
	char date[64]; /* by our clock, which the server compares with its own */
	struct curl_slist note = { .data = t->note, .next = t->headers },
			  headers = { .data = date, .next = *t->note ? &note : t->headers },
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
	ret->is_ndjson = type && strncasecmp(type, LINES, strlen(LINES)) == 0;
	if (code == CURLE_OK)
		return 0;
	return error_set(err, -EIO, "cannot send to '%s': %s", t->url,
			 *t->why ? t->why : t->curl.describe(code));
}
