/* SPDX-License-Identifier: MIT */
/* up_place - where agent and server of `up` keep what they have, and where they answer. */
#pragma once

struct error;

#define UP_PORT 9840 /* the agent's; the server's is the next */

struct up_place { /* paths are owned */
	char *dir; /* of all that follows; NULL: the places of an installed agent and server */
	char *agent_socket, *server_socket;
	char *database, *push_token, *scrape_token;
	unsigned int port;
};

/* @dir is made where it is missing; NULL: the usual places. */
int up_place_find(const char *dir, unsigned int port, struct up_place *ret, struct error *err);
void up_place_clear(struct up_place *p);

/* -EADDRINUSE: somebody listens on that port of the loopback already; *err names it. */
int up_port_check(unsigned int port, const char *whose, struct error *err);
