/* SPDX-License-Identifier: MIT */
#include "model/sections/network.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "model/document.h"
#include "model/histogram_json.h"
#include "model/json_place.h"
#include "basic/macro.h"
#include "model/metric_json.h"
#include "model/parts.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"

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
	size_t before = kind == SOCKET_TCP
				? 0
				: NETWORK_NUMBERS + (kind - 1) * (size_t)NETWORK_NUMBERS_OF_ALL;

	return before + (id - METRIC_NETWORK_FIRST);
}

uint64_t *network_number_ref(struct network *n, enum socket_kind kind, enum metric_id id)
{
	assert(kind < SOCKET_KIND_COUNT && id >= METRIC_NETWORK_FIRST && id < METRIC_NETWORK_END);
	assert(network_takes(kind, id));
	if (id == METRIC_NETWORK_LEAST_ROUND_TRIP)
		return &n->min_rtt_ns;
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
		return n->is_known && n->has_details &&
		       (id != METRIC_NETWORK_LEAST_ROUND_TRIP || n->min_rtt_ns);
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
	bool is_empty = !n->min_rtt_ns;

	for (size_t i = 0; i < NETWORK_PLACES; i++)
		is_empty &= !n->numbers[i];
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		is_empty &= !n->rtt_distribution.counts[i];
	return is_empty;
}

static bool network_is_same(const void *left, const void *right)
{
	const struct network *a = left, *b = right;

	return a->is_known == b->is_known && a->has_connections == b->has_connections &&
	       a->has_details == b->has_details && a->min_rtt_ns == b->min_rtt_ns &&
	       memcmp(a->numbers, b->numbers, sizeof(a->numbers)) == 0 &&
	       memcmp(&a->rtt_distribution, &b->rtt_distribution, sizeof(a->rtt_distribution)) == 0;
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
	to->min_rtt_ns = least_of(to->min_rtt_ns, from->min_rtt_ns);
	histogram_add(&to->rtt_distribution, &from->rtt_distribution);
}

static int network_raise(void *section, const void *shown)
{
	struct network *to = section;
	const struct network *least = shown;

	for (size_t i = 0; i < NETWORK_PLACES; i++)
		to->numbers[i] = MAX(to->numbers[i], least->numbers[i]);
	to->min_rtt_ns = least_of(to->min_rtt_ns, least->min_rtt_ns);
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		to->rtt_distribution.counts[i] = MAX(to->rtt_distribution.counts[i],
						     least->rtt_distribution.counts[i]);
	return 0;
}

/* A part of them would not do. */
static void forget_details(struct network *n)
{
	n->has_details = false;
	*network_number_ref(n, SOCKET_TCP, METRIC_NETWORK_SEGMENTS) = 0;
	n->min_rtt_ns = 0;
	n->rtt_distribution = (struct histogram){};
}

static void forget_connections(struct network *n)
{
	forget_details(n);
	for (size_t id = METRIC_NETWORK_OPENED; id < METRIC_NETWORK_END; id++)
		*network_number_ref(n, SOCKET_TCP, (enum metric_id)id) = 0;
}

static int network_begin(void *ret, unsigned int counted)
{
	const bool is_known = counted & COUNTED_NETWORK;

	*(struct network *)ret =
		(struct network){ .is_known = is_known,
				  .has_connections = is_known && counted & COUNTED_CONNECTIONS,
				  .has_details = is_known && counted & COUNTED_DETAILS };
	return 0;
}

static int network_merge(void *sum, const void *part)
{
	struct network *to = sum;
	const struct network *from = part;

	if (!to->is_known || !from->is_known) {
		*to = (struct network){};
		return 0;
	}
	to->has_connections &= from->has_connections;
	to->has_details &= from->has_details;
	network_add(to, from);
	if (!to->has_connections)
		forget_connections(to);
	if (!to->has_details)
		forget_details(to);
	return 0;
}

static bool subtract_details(struct network *from, const struct network *earlier)
{
	bool is_known = true;

	if (!earlier->has_details)
		forget_details(from);
	if (!from->has_details)
		return true;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		is_known &= from->rtt_distribution.counts[i] >= earlier->rtt_distribution.counts[i];
		from->rtt_distribution.counts[i] -= earlier->rtt_distribution.counts[i];
	}
	if (earlier->min_rtt_ns && from->min_rtt_ns >= earlier->min_rtt_ns)
		from->min_rtt_ns = 0; /* it may be from before */
	return is_known;
}

static int network_subtract(void *later, const void *before, struct strings *notes UNUSED)
{
	struct network *from = later;
	const struct network *earlier = before;
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
	return 0;
}

/* ---- one of each of many ---- */

/* By what is known of them; nothing ever came, went or failed. */
static const struct network idle[2][2][2] = {
	[1] = {
		{ { .is_known = true }, { .is_known = true, .has_details = true } },
		{ { .is_known = true, .has_connections = true },
		  { .is_known = true, .has_connections = true, .has_details = true } },
	},
};

static const void *network_idle(const void *section)
{
	const struct network *n = section;

	if (!network_is_empty(n))
		return NULL;
	return &idle[n->is_known][n->is_known && n->has_connections][n->is_known && n->has_details];
}

/* ---- as text ---- */

static void format_rtt_distribution(const struct network *n, struct document *d)
{
	bool is_known = network_knows(n, METRIC_NETWORK_ROUND_TRIP_TIMES);

	histogram_format(metric_get(METRIC_NETWORK_ROUND_TRIP_TIMES),
			 is_known ? &n->rtt_distribution : NULL, d);
}

static void format_direction(const struct network *n, enum socket_kind kind, const char *section,
			     struct document *d)
{
	document_begin_flat_map(d);
	for (size_t i = METRIC_NETWORK_FIRST; i < METRIC_NETWORK_END; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		if (strcmp(metric->section, section) == 0)
			metric_format(metric, network_knows(n, (enum metric_id)i),
				      network_number(n, kind, (enum metric_id)i), d);
	}
	if (strcmp(section, metric_get(METRIC_NETWORK_ROUND_TRIP_TIMES)->section) == 0)
		format_rtt_distribution(n, d);
	document_end_map(d);
}

/* Of each kind of socket that was used, a map for each direction, as the sections of the metrics
 * have them. */
static void format_sockets(const struct network *n, enum socket_kind kind, struct document *d)
{
	const char *before = "";

	document_begin_map_of(d, socket_kind_name(kind));
	for (size_t i = METRIC_NETWORK_FIRST; i < METRIC_NETWORK_END; i++) {
		const struct metric *metric = metric_get((enum metric_id)i);

		if (strcmp(metric->section, before) == 0 || !network_takes(kind, (enum metric_id)i))
			continue;
		before = metric->section;
		document_key(d, metric_part(metric));
		format_direction(n, kind, metric->section, d);
	}
	document_end_map(d);
}

static void network_format(const void *section, struct document *d)
{
	const struct network *n = section;

	document_begin_map(d);
	for (size_t kind = 0; kind < SOCKET_KIND_COUNT; kind++) {
		if (network_has_kind(n, (enum socket_kind)kind))
			format_sockets(n, (enum socket_kind)kind, d);
	}
	document_end_map(d);
}

/* ---- and back ---- */

static int take_socket_number(const struct place *place, const json_t *map,
			      const struct metric *metric, struct network *n, uint64_t *ret)
{
	bool is_known;
	int r;

	const char *part = metric_part(metric);
	struct place here = place_below(place, part);
	const json_t *section;
	r = place_get(place, map, part, JSON_OBJECT, &section);
	if (r < 0)
		return r;
	if (metric_id_of(metric) < METRIC_NETWORK_OPENED)
		return section ? place_need_number(&here, section, metric->key, ret) : 0;
	r = place_take_number(&here, section, metric->key, metric_unit_places(metric->unit), ret,
			      &is_known);
	if (metric_id_of(metric) < METRIC_NETWORK_SEGMENTS)
		n->has_connections &= is_known;
	else if (metric_id_of(metric) != METRIC_NETWORK_LEAST_ROUND_TRIP) /* of which there may be
									     none */
		n->has_details &= is_known;
	return r;
}

/* A list, which older records lack. */
static int take_rtt_distribution(const struct place *place, const json_t *tcp, struct network *ret)
{
	const struct metric *metric = metric_get(METRIC_NETWORK_ROUND_TRIP_TIMES);
	struct place here = place_below(place, metric_part(metric));
	const json_t *section;
	bool is_known;
	int r = place_get(place, tcp, metric_part(metric), JSON_OBJECT, &section);

	if (r == 0)
		r = histogram_take(&here, section, metric, &ret->rtt_distribution, &is_known);
	if (r == 0)
		ret->has_details &= is_known;
	return r;
}

static int take_sockets(const struct place *place, const json_t *map, enum socket_kind kind,
			struct network *ret)
{
	int r = 0;

	for (size_t id = METRIC_NETWORK_FIRST; r == 0 && id < METRIC_NETWORK_END; id++)
		r = network_takes(kind, (enum metric_id)id)
			    ? take_socket_number(place, map, metric_get((enum metric_id)id), ret,
						 network_number_ref(ret, kind, (enum metric_id)id))
			    : 0;
	if (r == 0 && kind == SOCKET_TCP)
		r = take_rtt_distribution(place, map, ret);
	return r;
}

static int network_parse(const struct place *place, const json_t *network, void *section)
{
	struct network *ret = section;
	const json_t *sockets;
	int r = 0;

	ret->is_known = true;
	ret->has_connections = ret->has_details = true; /* until something is missing */
	for (size_t kind = 0; r == 0 && kind < SOCKET_KIND_COUNT; kind++) {
		const char *name = socket_kind_name((enum socket_kind)kind);
		struct place below = place_below(place, name);

		r = place_get(place, network, name, JSON_OBJECT, &sockets);
		if (r == 0 && sockets)
			r = take_sockets(&below, sockets, (enum socket_kind)kind, ret);
	}
	return r;
}

static const char *network_thing(const void *section, size_t i)
{
	const struct network *n = section;

	for (size_t kind = 0; n->is_known && kind < SOCKET_KIND_COUNT; kind++) {
		if (network_has_kind(n, (enum socket_kind)kind) && i-- == 0)
			return names[kind];
	}
	return NULL;
}

static bool network_get(const void *section, const char *thing, enum metric_id id, uint64_t *ret)
{
	enum socket_kind kind = thing ? socket_kind_find(thing) : SOCKET_TCP;

	*ret = thing ? network_number(section, kind, id) : network_total(section, id);
	return network_knows(section, id) && network_takes(kind, id);
}

static const struct section_table network_table = {
	.label = "socket",
	.first = METRIC_NETWORK_FIRST,
	.end = METRIC_NETWORK_END,
	.has_sums = true,
	.thing = network_thing,
	.number = network_get,
};

const struct section network_section = {
	.name = "network",
	.size = sizeof(struct network),
	.offset = offsetof(struct record, reading.network),
	.counted = COUNTED_NETWORK | COUNTED_CONNECTIONS | COUNTED_DETAILS,
	.is_of_steps = true,
	.begin = network_begin,
	.idle = network_idle,
	.add = network_merge,
	.raise = network_raise,
	.subtract = network_subtract,
	.is_same = network_is_same,
	.format = network_format,
	.type = JSON_OBJECT,
	.parse = network_parse,
	.table = &network_table,
};

const struct network *network_of(const struct parts *p)
{
	const struct network *n = parts_get(p, &network_section);

	return n ? n : &idle[0][0][0];
}
