/* SPDX-License-Identifier: MIT */
#include "export/otlp_sender.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "basic/cleanup.h"
#include "basic/clock.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/transfer.h"
#include "codec/gzip_member.h"
#include "model/json_place.h"

#define URL_MAX 1000
#define NS_PER_S UINT64_C(1000000000)
#define DELAY_NS NS_PER_S /* before the second try; doubles... */
#define DELAY_MAX_NS (30 * NS_PER_S) /* ...up to this */
#define DELAY_LAST_NS NS_PER_S /* once the end has come */

struct request {
	char *text;
	size_t length, spans;
	struct request *next;
};

struct otlp_sender {
	struct transfer *transfer;
	struct transfer_answer answer;
	pthread_t thread;
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t changed; /* there is a request, or an end */
	bool is_running;
	struct request *first, **end;
	size_t bytes; /* of what waits */
	uint64_t until_ns, wait_ns; /* CLOCK_MONOTONIC; 0: the end has not come; and how long it
				       takes */
	unsigned int failures; /* in a row */
	struct otlp_sender_counts counts;
};

static uint64_t now_ns(void)
{
	return clock_now_ns(CLOCK_MONOTONIC);
}

/* ---- what a collector says ---- */

/* Others' words, for a terminal. */
static void copy_reason(const char *text, char ret[OTLP_SENDER_REASON_SIZE])
{
	size_t length = 0;

	for (; *text && length < OTLP_SENDER_REASON_SIZE - 1; text++)
		ret[length++] = (unsigned char)*text < ' ' || *text == 127 ? ' ' : *text;
	ret[length] = '\0';
}

/* A number, or its digits. */
static uint64_t count_of(const json_t *json)
{
	const char *text = json_string_value(json);
	json_int_t number = json_integer_value(json);

	if (text) {
		char *end;

		errno = 0;
		number = strtoll(text, &end, 10);
		if (errno || *end)
			number = 0;
	}
	return number > 0 ? (uint64_t)number : 0;
}

uint64_t otlp_answer_parse(const char *text, size_t length, uint64_t spans,
			   char why[OTLP_SENDER_REASON_SIZE])
{
	_cleanup_(json_freep) json_t *root = NULL;
	const json_t *partial;
	const char *reason;

	if (place_parse_map(text, length, &root, NULL) < 0)
		return 0;
	partial = json_object_get(root, "partialSuccess");
	reason = json_string_value(partial ? json_object_get(partial, "errorMessage")
					   : json_object_get(root, "message"));
	if (reason && *reason)
		copy_reason(reason, why);
	return MIN(count_of(json_object_get(partial, "rejectedSpans")), spans);
}

/* ---- one request ---- */

enum outcome { TAKEN, REFUSED, LATER };

static void say_status(const struct transfer_answer *answer, char why[OTLP_SENDER_REASON_SIZE])
{
	char reason[OTLP_SENDER_REASON_SIZE] = "";

	(void)otlp_answer_parse(answer->text, answer->length, 0, reason);
	snprintf(why, OTLP_SENDER_REASON_SIZE, "the collector answers %u%s%.200s", answer->status,
		 *reason ? ": " : "", reason);
}

static enum outcome sender_post(struct otlp_sender *s, const struct request *request,
				uint64_t *ret_rejected, char why[OTLP_SENDER_REASON_SIZE])
{
	struct transfer_answer *answer = &s->answer;
	const unsigned int *status = &answer->status;
	_cleanup_free_ void *packed = NULL;
	struct error err = {};
	size_t length;
	int r = gzip_member_pack(request->text, request->length, GZIP_FAST, &packed, &length);

	*ret_rejected = 0;
	if (r < 0) {
		copy_reason(strerror(-r), why);
		return REFUSED;
	}
	r = transfer_post(s->transfer, packed, length, answer, &err);
	if (answer->status / 100 == 2) {
		*ret_rejected = otlp_answer_parse(answer->text, answer->length, request->spans,
						  why);
		return TAKEN;
	}
	if (answer->status)
		say_status(answer, why);
	else
		copy_reason(r < 0 ? err.text : "no answer came", why);
	return !*status || *status == 429 || (*status >= 502 && *status <= 504) ? LATER : REFUSED;
}

/* ---- the thread ---- */

static void sender_remove_first(struct otlp_sender *s)
{
	struct request *request = s->first;

	s->first = request->next;
	if (!s->first)
		s->end = &s->first;
	s->bytes -= request->length;
	free(request->text);
	free(request);
}

static void sender_follow(struct otlp_sender *s, enum outcome outcome, uint64_t rejected)
{
	const uint64_t spans = s->first->spans;

	s->failures = outcome == LATER ? s->failures + 1 : 0;
	if (outcome == LATER)
		return;
	s->counts.sent += outcome == TAKEN ? spans - rejected : 0;
	s->counts.rejected += rejected;
	s->counts.refused += outcome == REFUSED ? spans : 0;
	sender_remove_first(s);
}

/* From a half to one and a half of it, so that not all nodes come back at once. */
static uint64_t sender_delay_ns(const struct otlp_sender *s)
{
	const uint64_t delay = MIN(DELAY_NS << MIN(s->failures - 1, 16U), DELAY_MAX_NS);
	uint32_t chance = UINT32_MAX / 2;

	(void)!getrandom(&chance, sizeof(chance), GRND_NONBLOCK);
	return delay / 2 + delay / UINT32_MAX * chance;
}

/* Until the request may be tried again.  False: there is no time for that. */
static bool sender_wait(struct otlp_sender *s)
{
	const uint64_t asked_ns = s->answer.retry_after_s * NS_PER_S, begun_ns = now_ns();
	uint64_t next_ns = begun_ns + MAX(asked_ns, sender_delay_ns(s));

	for (;;) {
		struct timespec at;

		if (s->until_ns) {
			if (!asked_ns)
				next_ns = MIN(next_ns, MAX(begun_ns, s->until_ns - s->wait_ns) +
							       DELAY_LAST_NS);
			if (next_ns >= s->until_ns)
				return false;
		}
		if (now_ns() >= next_ns)
			return true;
		at.tv_sec = (time_t)(next_ns / NS_PER_S);
		at.tv_nsec = (long)(next_ns % NS_PER_S);
		pthread_cond_timedwait(&s->changed, &s->lock, &at);
	}
}

static void *sender_run(void *context)
{
	struct otlp_sender *s = context;
	char why[OTLP_SENDER_REASON_SIZE] = "";
	bool has_time = true;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		uint64_t rejected;
		enum outcome outcome;

		while (!s->first && !s->until_ns)
			pthread_cond_wait(&s->changed, &s->lock);
		has_time &= !s->until_ns || now_ns() < s->until_ns;
		if (!s->first || !has_time)
			break;
		pthread_mutex_unlock(&s->lock); /* only we take requests away */
		outcome = sender_post(s, s->first, &rejected, why);
		pthread_mutex_lock(&s->lock);
		memcpy(s->counts.why, why, sizeof(why));
		sender_follow(s, outcome, rejected);
		if (outcome == LATER)
			has_time = sender_wait(s);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- its client ---- */

static bool must_stop(void *context)
{
	struct otlp_sender *s = context;
	bool is_over;

	pthread_mutex_lock(&s->lock);
	is_over = s->until_ns && now_ns() >= s->until_ns;
	pthread_mutex_unlock(&s->lock);
	return is_over;
}

static int make_url(const char *url, char ret[URL_MAX], struct error *err)
{
	static const char traces[] = "/v1/traces";
	const char *host = strstr(url, "://"), *path;

	if ((strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0) || !host[3] ||
	    strlen(url) + sizeof(traces) > URL_MAX)
		return error_set(err, -EINVAL, "'%.200s' is no URL of a collector", url);
	path = strchr(host + 3, '/');
	if (path && path[1])
		snprintf(ret, URL_MAX, "%s", url);
	else
		snprintf(ret, URL_MAX, "%.*s%s", (int)(path ? path - url : (ssize_t)strlen(url)),
			 url, traces);
	return 0;
}

/* All signals are the other threads'. */
static int sender_start(struct otlp_sender *s)
{
	sigset_t all, mask;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &mask);
	r = pthread_create(&s->thread, NULL, sender_run, s);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	s->is_running = r == 0;
	return -r;
}

int otlp_sender_open(const char *url, struct otlp_sender **ret, struct error *err)
{
	char whole[URL_MAX];
	struct otlp_sender *s;
	struct transfer_options options = {
		.url = whole,
		.type = "application/json",
		.agent = "jobmeter/" JOBMETER_VERSION,
		.ca = "",
		.timeout_s = OTLP_SENDER_ANSWER_S,
		.must_stop = must_stop,
	};
	pthread_condattr_t monotonic;
	int r = make_url(url, whole, err);

	if (r < 0)
		return r;
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_set_errno(err, ENOMEM, "cannot send");
	options.context = s;
	s->end = &s->first;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	r = transfer_open(&options, &s->transfer, err);
	if (r == 0 && (r = sender_start(s)) < 0)
		error_set_errno(err, r, "cannot send");
	if (r < 0)
		otlp_sender_free(s);
	else
		*ret = s;
	return r;
}

int otlp_sender_put(void *sender, char *text, size_t length, size_t spans)
{
	struct otlp_sender *s = sender;
	struct request *request = malloc(sizeof(*request));

	pthread_mutex_lock(&s->lock);
	if (!request || s->bytes + length > OTLP_SENDER_QUEUE_BYTES) {
		s->counts.dropped += spans;
		free(request);
		free(text);
	} else {
		*request = (struct request){ .text = text, .length = length, .spans = spans };
		*s->end = request;
		s->end = &request->next;
		s->bytes += length;
		pthread_cond_signal(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return 0;
}

void otlp_sender_get_counts(struct otlp_sender *s, struct otlp_sender_counts *ret)
{
	pthread_mutex_lock(&s->lock);
	*ret = s->counts;
	pthread_mutex_unlock(&s->lock);
}

void otlp_sender_finish(struct otlp_sender *s, uint64_t wait_ns, struct otlp_sender_counts *ret)
{
	pthread_mutex_lock(&s->lock);
	s->wait_ns = wait_ns;
	s->until_ns = now_ns() + wait_ns;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	s->is_running = false;
	while (s->first) {
		s->counts.unsent += s->first->spans;
		sender_remove_first(s);
	}
	*ret = s->counts;
}

struct otlp_sender *otlp_sender_free(struct otlp_sender *s)
{
	struct otlp_sender_counts counts;

	if (!s)
		return NULL;
	if (s->is_running)
		otlp_sender_finish(s, 0, &counts);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s); /* what sends is the process' */
	return NULL;
}
