/* SPDX-License-Identifier: MIT */
/* network - what a job sent and received through sockets, by their kind: the numbers of
 * SCOPE_SOCKET.
 *
 * In a record a map of the kinds that were used, each of its directions as the metrics' sections
 * have them.  In a difference the least round-trip time is known where it is new. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/histogram.h"
#include "model/metric.h"

struct parts;
struct shape;

enum socket_kind {
	SOCKET_TCP, /* by IPv4 or IPv6, as UDP */
	SOCKET_UDP,
	SOCKET_UNIX_STREAM,
	SOCKET_UNIX_DGRAM,
	SOCKET_OTHER, /* netlink, packets, SCTP...; and calls on what is no socket */
	SOCKET_KIND_COUNT,
};

/* "tcp"... */
const char *socket_kind_name(enum socket_kind kind);
enum socket_kind socket_kind_find(const char *name); /* SOCKET_KIND_COUNT: none such */

#define NETWORK_NUMBERS \
	(METRIC_NETWORK_LEAST_ROUND_TRIP - METRIC_NETWORK_FIRST) /* that are sums... */
#define NETWORK_NUMBERS_OF_ALL \
	(METRIC_NETWORK_OPENED - METRIC_NETWORK_FIRST) /* ...and of each kind */
#define NETWORK_PLACES (NETWORK_NUMBERS + (SOCKET_KIND_COUNT - 1) * NETWORK_NUMBERS_OF_ALL)

struct network { /* begins as {} */
	bool is_known;
	bool has_connections; /* TCP's own numbers are known, too */
	bool has_details; /* ...with segments, the least round-trip time and how they were spread */
	uint64_t numbers[NETWORK_PLACES]; /* that are sums: network_number() has them */
	uint64_t min_rtt_ns; /* of TCP; 0: none was seen */
	struct histogram rtt_distribution; /* HISTOGRAM_LATENCY; as many as
					      METRIC_NETWORK_ROUND_TRIPS */
};

/* Of METRIC_NETWORK_FIRST to METRIC_NETWORK_END; a kind that does not take the number has 0 of it,
 * and no place for it. */
uint64_t *network_number_ref(struct network *n, enum socket_kind kind, enum metric_id id);
uint64_t network_number(const struct network *n, enum socket_kind kind, enum metric_id id);
/* Does it say anything of that kind, and is it known? */
bool network_takes(enum socket_kind kind, enum metric_id id);
bool network_knows(const struct network *n, enum metric_id id);
/* No number of it is above 0, known or not. */
bool network_is_empty(const struct network *n);
/* Over all kinds. */
uint64_t network_total(const struct network *n, enum metric_id id);
/* Did anything come or go, or fail? */
bool network_has_kind(const struct network *n, enum socket_kind kind);

/* Those of a job or a step; not known where there are none. */
const struct network *network_of(const struct parts *p);

/* Numbers alone. */
void network_add(struct network *to, const struct network *from);

extern const struct shape network_shape; /* for structures that have one among other members */
