/* SPDX-License-Identifier: MIT */
#include "http/answer.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "basic/macro.h"

#define GROUPS_MAX 65536 /* the kernel's own bound */

static bool is_open(const struct connection *c)
{
	return c->state != CONNECTION_FREE && c->state != CONNECTION_CUT;
}

/* The HTTP library sees the end at its next turn, and closes. */
static void cut(struct connection *c)
{
	shutdown(c->fd, SHUT_RDWR);
	c->state = CONNECTION_CUT;
}

/* Of a peer with more groups than that, the first ones count. */
static void read_groups(int fd, struct http_peer *peer)
{
	socklen_t length = GROUPS_MAX * sizeof(gid_t);
	gid_t *groups = malloc(length);

	if (groups && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length) == 0) {
		peer->group_count = MIN(length / sizeof(gid_t), (size_t)HTTP_GROUPS_MAX);
		memcpy(peer->groups, groups, peer->group_count * sizeof(gid_t));
	}
	free(groups);
}

/* NULL: the kernel does not name it. */
static struct http_peer *peer_of(int fd)
{
	struct http_peer *peer;
	struct sockaddr_storage address = {};
	socklen_t address_length = sizeof(address), length = sizeof(struct ucred);
	struct ucred ucred;

	if (getsockname(fd, (struct sockaddr *)&address, &address_length) < 0 ||
	    address.ss_family != AF_UNIX ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ucred, &length) < 0)
		return NULL;
	peer = malloc(sizeof(*peer));
	if (!peer)
		return NULL;
	*peer = (struct http_peer){ true, ucred.uid, ucred.gid, ucred.pid };
	read_groups(fd, peer);
	return peer;
}

/* @peer NULL: all. */
static size_t count_of(const struct connections *c, const struct http_peer *peer)
{
	size_t count = 0;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		count += is_open(&c->items[i]) &&
			 (!peer || (c->items[i].peer && c->items[i].peer->uid == peer->uid));
	return count;
}

static void cut_oldest_idle(struct connections *c)
{
	struct connection *oldest = NULL;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *one = &c->items[i];

		if (one->state == CONNECTION_IDLE && (!oldest || one->since_ms < oldest->since_ms))
			oldest = one;
	}
	if (oldest)
		cut(oldest);
}

struct connection *connections_add(struct connections *c, int fd, uint64_t now_ms)
{
	struct http_peer *peer = peer_of(fd);
	bool is_greedy = peer && peer->uid != 0 && count_of(c, peer) >= CONNECTIONS_OF_A_USER;

	if (!is_greedy && count_of(c, NULL) >= CONNECTIONS_SCARCE)
		cut_oldest_idle(c);
	for (size_t i = 0; i < CONNECTIONS_MAX && !is_greedy; i++) {
		if (c->items[i].state != CONNECTION_FREE)
			continue;
		c->items[i] = (struct connection){
			.state = CONNECTION_IDLE, .fd = fd, .since_ms = now_ms, .peer = peer
		};
		return &c->items[i];
	}
	free(peer);
	shutdown(fd, SHUT_RDWR);
	return NULL;
}

void connections_remove(struct connection *connection)
{
	if (!connection)
		return;
	free(connection->peer);
	*connection = (struct connection){};
}

void connections_set(struct connection *connection, enum connection_state state, uint64_t now_ms)
{
	if (!connection || !is_open(connection))
		return;
	connection->state = state;
	connection->since_ms = now_ms;
}

/* Who waits is not cut: that ends by itself, and the library would not hear of it. */
static uint64_t end_ms(const struct connections *c, const struct connection *one)
{
	if (one->state == CONNECTION_WAITING || one->state == CONNECTION_AWAITING)
		return UINT64_MAX;
	return one->since_ms + (one->state == CONNECTION_IDLE ? c->idle_ms : c->answer_ms);
}

void connections_sweep(struct connections *c, uint64_t now_ms)
{
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (is_open(&c->items[i]) && end_ms(c, &c->items[i]) <= now_ms)
			cut(&c->items[i]);
	}
}

int connections_timeout_ms(const struct connections *c, uint64_t now_ms)
{
	int timeout = -1;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		uint64_t end = end_ms(c, &c->items[i]);
		int left = end <= now_ms ? 0 : (int)MIN(end - now_ms, (uint64_t)INT32_MAX);

		if (is_open(&c->items[i]) && (timeout < 0 || left < timeout))
			timeout = left;
	}
	return timeout;
}
