/* SPDX-License-Identifier: MIT */
/*
 * transfer - sends a batch to the server: a POST by libcurl, which is loaded here and nowhere else,
 * so that neither the agent nor anybody without a server has it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;
struct transfer;

#define TRANSFER_ANSWER_MAX (8u << 20) /* bytes of an answer */

struct transfer_options { /* all outlives it */
	const char *url; /* "https://HOST:PORT", as the settings have it */
	const char *ca; /* certificates to trust; "": those of the system */
};

/* -ENOENT: there is no libcurl on this node. */
int transfer_open(const struct transfer_options *options, struct transfer **ret, struct error *err);
struct transfer *transfer_close(struct transfer *t); /* NULL is fine; returns NULL */

struct transfer_answer { /* begins as {} */
	unsigned int status; /* 0: there was none */
	unsigned int retry_after_s; /* what the server asks for; 0: nothing */
	bool is_ndjson; /* lines of JSON, as it says */
	char *text; /* as far as it came; owned; may be NULL */
	size_t length;
};
void transfer_answer_clear(struct transfer_answer *a);

/* @body is gzip; @token: "": none.  Takes two minutes at most.  -EIO: no whole answer came, and
 * *err says why; what came of it is in *ret all the same, for a line that is whole holds. */
int transfer_post(struct transfer *t, const char *token, const void *body, size_t length,
		  struct transfer_answer *ret, struct error *err);
