/* SPDX-License-Identifier: MIT */
/*
 * otlp_sender - brings requests of spans to a collector by OTLP over HTTP, on a thread of its own:
 * the reader of calls never waits for the network.
 *
 * Requests wait in a bounded queue; one that finds it full is dropped.  Where no answer comes, or
 * 429, 502, 503 or 504, a request is sent again, later and later, no sooner than the collector asks
 * for; any other refusal drops it.  Each span that is put is counted once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;
struct otlp_sender;

#define OTLP_SENDER_QUEUE_BYTES (64u << 20) /* of requests, as they are made */
#define OTLP_SENDER_ANSWER_S 10 /* for each */
#define OTLP_SENDER_REASON_SIZE 256

struct otlp_sender_counts { /* of spans */
	uint64_t sent; /* the collector has them */
	uint64_t rejected; /* it took the request, but not these */
	uint64_t refused; /* it did not take the request */
	uint64_t dropped; /* the queue was full */
	uint64_t unsent; /* there was no time left */
	char why[OTLP_SENDER_REASON_SIZE]; /* the last thing that went wrong, on one line; "":
					      nothing */
};

/* @url: of the collector ("http://HOST:4318", to which "/v1/traces" is added) or of its traces
 * ("https://HOST/some/where").  Nobody is asked yet.  -EINVAL: it is no URL; -ENOENT: there is no
 * libcurl on this node. */
int otlp_sender_open(const char *url, struct otlp_sender **ret, struct error *err);
/* @request, from malloc(), is taken over in any case; as struct otlp_options has it. */
int otlp_sender_put(void *sender, char *request, size_t length, size_t spans);
/* So far. */
void otlp_sender_get_counts(struct otlp_sender *s, struct otlp_sender_counts *ret);
/* What waits has @wait_ns more, then it is given up.  Returns a second later at most. */
void otlp_sender_finish(struct otlp_sender *s, uint64_t wait_ns, struct otlp_sender_counts *ret);
/* NULL is fine; returns NULL.  What waits is given up. */
struct otlp_sender *otlp_sender_free(struct otlp_sender *s);

/*
 * What a collector says of @spans that it was sent: the text of a status, or how many it left out,
 * at most @spans, and why.  It is trusted in nothing: a text that is no such answer rejects none.
 * *why is left alone where there is no reason.
 */
uint64_t otlp_answer_parse(const char *text, size_t length, uint64_t spans,
			   char why[OTLP_SENDER_REASON_SIZE]);
