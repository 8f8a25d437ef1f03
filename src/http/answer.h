/* SPDX-License-Identifier: MIT */
/* answer - one request: its body, its permission, its route and its answer. Within http only. */
#pragma once

#include <microhttpd.h>

#include "basic/error.h"
#include "http/budgets.h"
#include "http/connections.h"
#include "http/http.h"

struct http {
	struct MHD_Daemon *daemon;
	struct http_options options; /* strings are its own */
	char *token, *socket_path;
	int library_fd; /* the library's epoll, */
	int epoll_fd; /* which is in ours, with all awaited descriptors */
	uint16_t port;
	ino_t socket_inode;
	struct connections connections;
	struct budgets budgets;
	uint64_t closed; /* connections, so far */
	bool is_ending;
	size_t large_bytes; /* of the bodies that are larger than BODY_MAX_BYTES, now */
	char complaint[256]; /* the HTTP library's last */
};

/* One request, from the end of its head to the end of its answer. */
struct exchange {
	struct http *http;
	struct MHD_Connection *mhd;
	const struct http_route *route; /* NULL: none fits */
	struct http_request request;
	char *body;
	bool is_admitted; /* by a token or otherwise, or since none is wanted; else... */
	int refusal; /* ...of admit(), with its words */
	struct error refused;
	bool is_too_large; /* its body; or... */
	bool has_no_room; /* ...those of all are */
	bool is_called; /* it has waited, and continues */
	struct http_answer begun; /* of its route, if that streams: not known yet */
};

uint64_t answer_now_ms(void);

/* libmicrohttpd's MHD_AccessHandlerCallback; @context is the struct http, *@state the exchange. */
enum MHD_Result answer_request(void *context, struct MHD_Connection *mhd, const char *path,
			       const char *method, const char *version, const char *data,
			       size_t *data_size, void **state);

/* Resume requests whose budget or answer is ready; @is_end: all. */
void answer_call_waiting(struct http *h, bool is_end);
/* Time until then; -1: none waits. */
int answer_timeout_ms(struct http *h);

struct exchange *exchange_free(struct exchange *x); /* NULL is fine */
