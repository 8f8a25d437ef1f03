/* SPDX-License-Identifier: MIT */
#include "network.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "macro.h"

static const char *const names[SOCKET_KIND_COUNT] = {
	[SOCKET_TCP] = "tcp",
	[SOCKET_UDP] = "udp",
	[SOCKET_UNIX_STREAM] = "unix_stream",
	[SOCKET_UNIX_DGRAM] = "unix_dgram",
	[SOCKET_OTHER] = "other",
};

const char *socket_kind_name(enum socket_kind kind)
{
	assert(kind < SOCKET_KIND_COUNT);
	return names[kind];
}

enum socket_kind socket_kind_find(const char *name)
{
	size_t kind = 0;

	while (kind < SOCKET_KIND_COUNT && strcmp(names[kind], name) != 0)
		kind++;
	return (enum socket_kind)kind;
}

/* TCP, which has more than the others, stands first. */
static size_t place_of(enum socket_kind kind, enum metric_id id)
{
	static_assert(SOCKET_TCP == 0, "the first");
	size_t before = kind == SOCKET_TCP ? 0 : NETWORK_NUMBERS + (kind - 1) * (size_t)NETWORK_NUMBERS_OF_ALL;

	return before + (id - METRIC_NETWORK_FIRST);
}

uint64_t *network_number_ref(struct network *n, enum socket_kind kind, enum metric_id id)
{
	assert(kind < SOCKET_KIND_COUNT && id >= METRIC_NETWORK_FIRST && id < METRIC_NETWORK_END);
	assert(network_takes(kind, id));
	if (id == METRIC_NETWORK_LEAST_ROUND_TRIP)
		return &n->least_round_trip_ns;
	return &n->numbers[place_of(kind, id)];
}

uint64_t network_number(const struct network *n, enum socket_kind kind, enum metric_id id)
{
	return network_takes(kind, id) ? *network_number_ref((struct network *)n, kind, id) : 0;
}

bool network_takes(enum socket_kind kind, enum metric_id id)
{
	return kind == SOCKET_TCP || id < METRIC_NETWORK_OPENED;
}

bool network_knows(const struct network *n, enum metric_id id)
{
	if (id >= METRIC_NETWORK_SEGMENTS)
		return n->is_known && n->has_details && (id != METRIC_NETWORK_LEAST_ROUND_TRIP || n->least_round_trip_ns);
	return n->is_known && (n->has_connections || id < METRIC_NETWORK_OPENED);
}

uint64_t network_total(const struct network *n, enum metric_id id)
{
	uint64_t sum = 0;

	for (size_t kind = 0; kind < SOCKET_KIND_COUNT; kind++)
		sum += network_number(n, (enum socket_kind)kind, id);
	return sum;
}

bool network_has_kind(const struct network *n, enum socket_kind kind)
{
	for (size_t i = 0; i < NETWORK_NUMBERS; i++) {
		if (network_number(n, kind, (enum metric_id)(METRIC_NETWORK_FIRST + i)))
			return true;
	}
	return false;
}

bool network_is_empty(const struct network *n)
{
	bool is_empty = !n->least_round_trip_ns;

	for (size_t i = 0; i < NETWORK_PLACES; i++)
		is_empty &= !n->numbers[i];
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		is_empty &= !n->round_trip_times.counts[i];
	return is_empty;
}

bool network_is_equal(const struct network *a, const struct network *b)
{
	return a->is_known == b->is_known && a->has_connections == b->has_connections && a->has_details == b->has_details &&
	       a->least_round_trip_ns == b->least_round_trip_ns && memcmp(a->numbers, b->numbers, sizeof(a->numbers)) == 0 &&
	       memcmp(&a->round_trip_times, &b->round_trip_times, sizeof(a->round_trip_times)) == 0;
}

/* Of times of which 0 is none. */
static uint64_t least_of(uint64_t a, uint64_t b)
{
	return !a || !b ? MAX(a, b) : MIN(a, b);
}

void network_add(struct network *to, const struct network *from)
{
	for (size_t i = 0; i < NETWORK_PLACES; i++)
		to->numbers[i] += from->numbers[i];
	to->least_round_trip_ns = least_of(to->least_round_trip_ns, from->least_round_trip_ns);
	histogram_add(&to->round_trip_times, &from->round_trip_times);
}

void network_raise(struct network *to, const struct network *least)
{
	for (size_t i = 0; i < NETWORK_PLACES; i++)
		to->numbers[i] = MAX(to->numbers[i], least->numbers[i]);
	to->least_round_trip_ns = least_of(to->least_round_trip_ns, least->least_round_trip_ns);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		to->round_trip_times.counts[i] = MAX(to->round_trip_times.counts[i], least->round_trip_times.counts[i]);
}

/* A part of them would not do. */
static void forget_details(struct network *n)
{
	n->has_details = false;
	*network_number_ref(n, SOCKET_TCP, METRIC_NETWORK_SEGMENTS) = 0;
	n->least_round_trip_ns = 0;
	n->round_trip_times = (struct histogram){};
}

static void forget_connections(struct network *n)
{
	forget_details(n);
	for (size_t id = METRIC_NETWORK_OPENED; id < METRIC_NETWORK_END; id++)
		*network_number_ref(n, SOCKET_TCP, (enum metric_id)id) = 0;
}

void network_merge(struct network *to, const struct network *from)
{
	if (!to->is_known || !from->is_known) {
		*to = (struct network){};
		return;
	}
	to->has_connections &= from->has_connections;
	to->has_details &= from->has_details;
	network_add(to, from);
	if (!to->has_connections)
		forget_connections(to);
	if (!to->has_details)
		forget_details(to);
}

static bool subtract_details(struct network *from, const struct network *earlier)
{
	bool is_known = true;

	if (!earlier->has_details)
		forget_details(from);
	if (!from->has_details)
		return true;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		is_known &= from->round_trip_times.counts[i] >= earlier->round_trip_times.counts[i];
		from->round_trip_times.counts[i] -= earlier->round_trip_times.counts[i];
	}
	if (earlier->least_round_trip_ns && from->least_round_trip_ns >= earlier->least_round_trip_ns)
		from->least_round_trip_ns = 0; /* it may be from before */
	return is_known;
}

void network_subtract(struct network *from, const struct network *earlier)
{
	bool is_known = from->is_known && earlier->is_known;

	from->has_connections &= earlier->has_connections;
	if (!from->has_connections)
		forget_connections(from);
	is_known &= subtract_details(from, earlier);
	for (size_t i = 0; i < NETWORK_PLACES; i++) { /* what is not known is 0 in @from */
		bool is_tcps_own = i >= NETWORK_NUMBERS_OF_ALL && i < NETWORK_NUMBERS;

		if (is_tcps_own && !network_knows(from, (enum metric_id)(METRIC_NETWORK_FIRST + i)))
			continue;
		is_known &= from->numbers[i] >= earlier->numbers[i];
		from->numbers[i] -= earlier->numbers[i];
	}
	if (!is_known)
		*from = (struct network){};
}

/* ---- one of each of many ---- */

/* By what is known of them; nothing ever came, went or failed. */
static const struct network empty[2][2][2] = {
	[1] = {
		{ { .is_known = true }, { .is_known = true, .has_details = true } },
		{ { .is_known = true, .has_connections = true },
		  { .is_known = true, .has_connections = true, .has_details = true } },
	},
};

const struct network *network_keep(const struct network *n)
{
	struct network *copy;

	if (network_is_empty(n))
		return &empty[n->is_known][n->is_known && n->has_connections][n->is_known && n->has_details];
	copy = malloc(sizeof(*copy));
	if (copy)
		*copy = *n;
	return copy;
}

void network_drop(const struct network *kept)
{
	if (kept && !network_is_empty(kept)) /* those that are stay */
		free((void *)kept);
}
