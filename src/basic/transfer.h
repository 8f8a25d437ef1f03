/* SPDX-License-Identifier: MIT */
/*
 * transfer - sends a batch by HTTP: a POST by libcurl, which is loaded on first use.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;
struct transfer;

#define TRANSFER_ANSWER_MAX (1u << 20) /* bytes of an answer */

struct transfer_options { /* texts are copied */
	const char *url; /* all of it */
	const char *type; /* Content-Type: "application/json" */
	const char *agent; /* User-Agent: "NAME/VERSION" */
	const char *ca; /* certificates to trust; "": those of the system */
	unsigned int timeout_s; /* of one batch */
	/* Called about every second: true ends the current transfer. May be NULL. */
	bool (*must_stop)(void *context);
	void *context;
};

/* It lives as long as the process.  -ENOENT: there is no libcurl on this node. */
int transfer_open(const struct transfer_options *options, struct transfer **ret, struct error *err);
/* The header Authorization from now on: "Bearer TOKEN"; "": none. */
void transfer_authorize(struct transfer *t, const char *authorization);

/* One more header from now on: "NAME: VALUE"; "" or a longer one: none. */
#define TRANSFER_NOTE_MAX 4096
void transfer_note(struct transfer *t, const char *header);

struct transfer_answer {
	unsigned int status; /* 0: there was none */
	unsigned int retry_after_s; /* what the server asks for; 0: nothing */
	bool is_ndjson; /* lines of JSON, as it says */
	size_t length;
	char text[TRANSFER_ANSWER_MAX]; /* as far as it came */
};

/* As libcurl wants it: adds to the struct transfer_answer that is @context. */
size_t transfer_take_text(char *text, size_t size, size_t count, void *context);

/* @transfer is a struct transfer; @body is gzip.  -EIO: no complete answer in time, and *err says
 * why; *ret has the received part, whose complete lines are valid. */
int transfer_post(void *transfer, const void *body, size_t length, struct transfer_answer *ret,
		  struct error *err);
