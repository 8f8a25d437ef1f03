/* SPDX-License-Identifier: MIT */
/* answer - one request: its body, its permission, its route and its answer. Within http only. */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

#include "basic/error.h"
#include "http/budgets.h"
#include "http/http.h"

/*
 * connections - the open connections with their age and state, so that none can lock out others.
 *
 * A client has a limited time to send a complete request, and a longer one to read the answer. When
 * connections get scarce, the one that has been idle longest is closed; each user of a Unix socket
 * has a limit.
 */

#define CONNECTIONS_MAX 256
#define CONNECTIONS_SCARCE 224 /* from here on those without a request are cut for new ones */
#define CONNECTIONS_OF_A_USER 16 /* of one that is not root, over a Unix socket */
#define CONNECTIONS_WAITING 32 /* of unidentified clients */

enum connection_state {
	CONNECTION_FREE,
	CONNECTION_IDLE, /* no whole request yet */
	CONNECTION_WAITING, /* for its user's budget */
	CONNECTION_AWAITING, /* more of its answer */
	CONNECTION_ANSWERING,
	CONNECTION_CUT,
};

struct connection {
	enum connection_state state;
	int fd; /* the HTTP library's, */
	void *waiter; /* the caller's, of one that waits; of one that awaits the library's */
	int awaited_fd; /* readable when there is more */
	bool awaits_thread; /* and until then the client may go unseen */
	uint32_t user; /* charged user, of one that awaits */
	uint64_t since_ms;
	struct http_peer *peer; /* NULL: not known */
};

struct connections { /* begins as {} */
	struct connection items[CONNECTIONS_MAX];
	uint64_t idle_ms, answer_ms; /* how long they may take */
};

/* NULL: no room, and it was cut. */
struct connection *connections_add(struct connections *c, int fd, uint64_t now_ms);
void connections_remove(struct connection *connection); /* NULL is fine */
void connections_set(struct connection *connection, enum connection_state state, uint64_t now_ms);

/* Cut those that take too long. */
void connections_sweep(struct connections *c, uint64_t now_ms);
/* Until there is one to cut; -1: there is none. */
int connections_timeout_ms(const struct connections *c, uint64_t now_ms);

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

/* ---- gzip.c: a body, compressed as it is made; takes some 130 KiB while it lasts ---- */

/* From now on @answer's @next gives the compressed body; it owns what the answer had.  -ENOMEM:
 * nothing changed. */
int gzip_answer(struct http_answer *answer);
