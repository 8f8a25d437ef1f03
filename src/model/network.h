/* SPDX-License-Identifier: MIT */
/* network - what a job sent and received through sockets, by their kind: the numbers of
 * SCOPE_SOCKET. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "histogram.h"
#include "metric.h"

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

#define NETWORK_NUMBERS (METRIC_NETWORK_LEAST_ROUND_TRIP - METRIC_NETWORK_FIRST) /* that are sums... */
#define NETWORK_NUMBERS_OF_ALL (METRIC_NETWORK_OPENED - METRIC_NETWORK_FIRST)	 /* ...and of each kind */
#define NETWORK_PLACES (NETWORK_NUMBERS + (SOCKET_KIND_COUNT - 1) * NETWORK_NUMBERS_OF_ALL)

struct network { /* begins as {} */
	bool is_known;
	bool has_connections; /* TCP's own numbers are known, too */
	bool has_details; /* ...with segments, the least round-trip time and how they were spread */
	uint64_t numbers[NETWORK_PLACES]; /* that are sums: network_number() has them */
	uint64_t least_round_trip_ns; /* of TCP; 0: none was seen */
	struct histogram round_trip_times; /* HISTOGRAM_LATENCY; as many as METRIC_NETWORK_ROUND_TRIPS */
};

/* Of METRIC_NETWORK_FIRST to METRIC_NETWORK_END; a kind that does not take the number has 0 of it, and no place for it. */
uint64_t *network_number_ref(struct network *n, enum socket_kind kind, enum metric_id id);
uint64_t network_number(const struct network *n, enum socket_kind kind, enum metric_id id);
/* Does it say anything of that kind, and is it known? */
bool network_takes(enum socket_kind kind, enum metric_id id);
bool network_knows(const struct network *n, enum metric_id id);
/* No number of it is above 0, known or not. */
bool network_is_empty(const struct network *n);
bool network_is_equal(const struct network *a, const struct network *b);
/* Over all kinds. */
uint64_t network_total(const struct network *n, enum metric_id id);
/* Did anything come or go, or fail? */
bool network_has_kind(const struct network *n, enum socket_kind kind);

/* Numbers alone. */
void network_add(struct network *to, const struct network *from);
void network_raise(struct network *to, const struct network *least);
/* What was added since; not known where one of both is not, or a number fell.  The least round-trip time is known where
 * it is new. */
void network_subtract(struct network *from, const struct network *earlier);
/* The sum, which is known where both are. */
void network_merge(struct network *to, const struct network *from);

/* For who holds one of each of many, most of which use no socket: a copy that is never changed and that network_drop()
 * gives back.  Those that are empty take no memory.  NULL: there is none. */
const struct network *network_keep(const struct network *n);
void network_drop(const struct network *kept); /* NULL is fine */
