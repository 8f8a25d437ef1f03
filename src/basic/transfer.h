/* SPDX-License-Identifier: MIT */
/*
 * transfer - sends a batch by HTTP: a POST by libcurl, which is loaded here, so that nobody who
 * sends nothing has it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;
struct transfer;

#define TRANSFER_ANSWER_MAX (1u << 20) /* bytes of an answer */

struct transfer_options { /* texts are copied */
	const char *url; /* all of it */
	const char *type; /* of what is sent, as in "application/json" */
	const char *agent; /* who sends it: "NAME/VERSION" */
	const char *ca; /* certificates to trust; "": those of the system */
	unsigned int timeout_s; /* of one batch */
	/* Asked about every second: true ends the transfer that is under way.  NULL: nobody is. */
	bool (*must_stop)(void *context);
	void *context;
};

/* It lives as long as the process.  -ENOENT: there is no libcurl on this node. */
int transfer_open(const struct transfer_options *options, struct transfer **ret, struct error *err);
/* What the header Authorization says from now on: "Bearer TOKEN"; "": nothing. */
void transfer_authorize(struct transfer *t, const char *authorization);

struct transfer_answer {
	unsigned int status; /* 0: there was none */
	unsigned int retry_after_s; /* what the server asks for; 0: nothing */
	bool is_ndjson; /* lines of JSON, as it says */
	size_t length;
	char text[TRANSFER_ANSWER_MAX]; /* as far as it came */
};

/* @transfer is a struct transfer; @body is gzip.  -EIO: no whole answer came in time, and *err says
 * why; what came of it is in *ret all the same, for a line that is whole holds. */
int transfer_post(void *transfer, const void *body, size_t length, struct transfer_answer *ret,
		  struct error *err);
