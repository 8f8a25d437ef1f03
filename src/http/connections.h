/* SPDX-License-Identifier: MIT */
/*
 * connections - the open connections with their age and state, so that none can lock out others.
 *
 * A client has a limited time to send a complete request, and a longer one to read the answer. When
 * connections get scarce, the one that has been idle longest is closed; each user of a Unix socket
 * has a limit.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/http.h"

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
