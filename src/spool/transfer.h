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

#define TRANSFER_ANSWER_MAX (1u << 20) /* bytes of an answer */

/* @url: "https://HOST:PORT"; @ca: certificates to trust, "": those of the system.  It lives as long
 * as the process.  -ENOENT: there is no libcurl on this node. */
int transfer_open(const char *url, const char *ca, struct transfer **ret, struct error *err);
/* What the header Authorization says from now on: "Bearer TOKEN"; "": nothing. */
void transfer_authorize(struct transfer *t, const char *authorization);

struct transfer_answer {
	unsigned int status; /* 0: there was none */
	unsigned int retry_after_s; /* what the server asks for; 0: nothing */
	bool is_ndjson; /* lines of JSON, as it says */
	size_t length;
	char text[TRANSFER_ANSWER_MAX]; /* as far as it came */
};

/* @transfer is a struct transfer; @body is gzip.  Takes two minutes at most.  -EIO: no whole answer
 * came, and *err says why; what came of it is in *ret all the same, for a line that is whole holds.
 */
int transfer_post(void *transfer, const void *body, size_t length, struct transfer_answer *ret,
		  struct error *err);
