/* SPDX-License-Identifier: MIT */
#include "model/sections/network.h"

#include <assert.h>
#include <string.h>

#include "basic/macro.h"
#include "model/parts.h"
#include "model/record.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/shape.h"

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

/* Its numbers, the least round-trip time and the spread are one row of cells. */
#define CELLS ((sizeof(struct network) - offsetof(struct network, numbers)) / sizeof(uint64_t))
#define CELL_OF_LEAST NETWORK_PLACES

static_assert(offsetof(struct network, rtt_distribution) ==
			      offsetof(struct network, min_rtt_ns) + sizeof(uint64_t) &&
		      offsetof(struct network, min_rtt_ns) ==
			      offsetof(struct network, numbers[NETWORK_PLACES]),
	      "they stand as the metrics do");

static uint64_t *cells_of(const struct network *n)
{
	return (uint64_t *)((char *)n + offsetof(struct network, numbers));
}

bool network_is_empty(const struct network *n)
{
	uint64_t any = 0;

	for (size_t i = 0; i < CELLS; i++)
		any |= cells_of(n)[i];
	return !any;
}

static bool network_is_same(const void *left, const void *right)
{
	const struct network *a = left, *b = right;

	return a->is_known == b->is_known && a->has_connections == b->has_connections &&
	       a->has_details == b->has_details &&
	       memcmp(cells_of(a), cells_of(b), CELLS * sizeof(uint64_t)) == 0;
}

/* Of times of which 0 is none. */
static uint64_t least_of(uint64_t a, uint64_t b)
{
	return !a || !b ? MAX(a, b) : MIN(a, b);
}

void network_add(struct network *to, const struct network *from)
{
	const uint64_t least = least_of(to->min_rtt_ns, from->min_rtt_ns);

	for (size_t i = 0; i < CELLS; i++)
		cells_of(to)[i] += cells_of(from)[i];
	to->min_rtt_ns = least;
}

static int network_raise(void *section, const void *shown)
{
	struct network *to = section;
	const struct network *from = shown;
	const uint64_t least = least_of(to->min_rtt_ns, from->min_rtt_ns);

	for (size_t i = 0; i < CELLS; i++)
		cells_of(to)[i] = MAX(cells_of(to)[i], cells_of(from)[i]);
	to->min_rtt_ns = least;
	return 0;
}

/* What it does not know is 0: a part would not do. */
static void forget_unknown(struct network *n)
{
	n->has_details &= n->has_connections;
	if (n->has_details)
		return;
	for (size_t id = n->has_connections ? METRIC_NETWORK_SEGMENTS : METRIC_NETWORK_OPENED;
	     id < METRIC_NETWORK_END; id++)
		*network_number_ref(n, SOCKET_TCP, (enum metric_id)id) = 0;
	n->rtt_distribution = (struct histogram){};
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
	forget_unknown(to);
	return 0;
}

static int network_subtract(void *later, const void *before, struct strings *notes UNUSED)
{
	struct network *from = later, earlier = *(const struct network *)before;
	bool is_known = from->is_known && earlier.is_known;
	uint64_t least;

	from->has_connections = earlier.has_connections &= from->has_connections;
	from->has_details = earlier.has_details &= from->has_details;
	forget_unknown(from);
	forget_unknown(&earlier);
	/* else it may be from before */
	least = !earlier.min_rtt_ns || from->min_rtt_ns < earlier.min_rtt_ns ? from->min_rtt_ns : 0;
	for (size_t i = 0; i < CELLS; i++) {
		is_known &= i == CELL_OF_LEAST || cells_of(from)[i] >= cells_of(&earlier)[i];
		cells_of(from)[i] -= cells_of(&earlier)[i];
	}
	from->min_rtt_ns = least;
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

/* ---- as text: of each kind that was used, a map for each section of the metrics ---- */

static bool knows(const void *root UNUSED, const void *row, enum metric_id id)
{
	return network_knows(row, id);
}

static bool lacks(void *root UNUSED, void *row, enum metric_id id)
{
	struct network *n = row;

	if (id >= METRIC_NETWORK_OPENED && id < METRIC_NETWORK_SEGMENTS)
		n->has_connections = false;
	else if (id >= METRIC_NETWORK_SEGMENTS && id != METRIC_NETWORK_LEAST_ROUND_TRIP)
		n->has_details = false; /* older records lack them */
	return id >= METRIC_NETWORK_OPENED;
}

#define NUMBER(metric) (((metric)-METRIC_NETWORK_FIRST) * sizeof(uint64_t))

/* clang-format off */
#define ALL_KINDS \
	{ "sent", SHAPE_NUMBERS, SHAPE_NEEDED | SHAPE_ALWAYS | SHAPE_FLAT, NUMBER(METRIC_NETWORK_SENT_BYTES), \
	  .first = METRIC_NETWORK_SENT_BYTES, .end = METRIC_NETWORK_RECEIVED_BYTES }, \
	{ "received", SHAPE_NUMBERS, SHAPE_NEEDED | SHAPE_ALWAYS | SHAPE_FLAT, NUMBER(METRIC_NETWORK_RECEIVED_BYTES), \
	  .first = METRIC_NETWORK_RECEIVED_BYTES, .end = METRIC_NETWORK_OPENED }

static const struct field connection_fields[] = {
	{ NULL, SHAPE_NUMBERS, 0, NUMBER(METRIC_NETWORK_OPENED),
	  .first = METRIC_NETWORK_OPENED, .end = METRIC_NETWORK_LEAST_ROUND_TRIP },
	{ NULL, SHAPE_NUMBERS, 0, offsetof(struct network, min_rtt_ns) - offsetof(struct network, numbers),
	  .first = METRIC_NETWORK_LEAST_ROUND_TRIP, .end = METRIC_NETWORK_ROUND_TRIP_TIMES + 1 },
};
static const struct shape connection_shape = { SHAPE_OF(struct network, connection_fields) };
static const struct field tcp_fields[] = {
	ALL_KINDS,
	{ "connections", SHAPE_MAP, SHAPE_ALWAYS | SHAPE_FLAT | SHAPE_AS_EMPTY, 0, .rows = &connection_shape },
};
static const struct shape tcp_shape = { SHAPE_OF(struct network, tcp_fields) };
static const struct field other_fields[] = { ALL_KINDS };
static const struct shape other_shape = { SHAPE_OF(uint64_t[NETWORK_NUMBERS_OF_ALL], other_fields) };
static const struct field fields[] = {
	{ "tcp", SHAPE_MAP, 0, offsetof(struct network, numbers), .rows = &tcp_shape },
	{ NULL, SHAPE_NAMED, 0, offsetof(struct network, numbers[NETWORK_NUMBERS]), SOCKET_KIND_COUNT - 1,
	  .rows = &other_shape, .names = names + 1 },
};
static const struct network blank = { .is_known = true, .has_connections = true, .has_details = true };
/* clang-format on */
const struct shape network_shape = { SHAPE_OF(struct network, fields), .blank = &blank,
				     .knows = knows, .lacks = lacks };

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
	.shape = &network_shape,
	.begin = network_begin,
	.idle = network_idle,
	.add = network_merge,
	.raise = network_raise,
	.subtract = network_subtract,
	.is_same = network_is_same,
	.type = JSON_OBJECT,
	.table = &network_table,
};

const struct network *network_of(const struct parts *p)
{
	const struct network *n = parts_get(p, &network_section);

	return n ? n : &idle[0][0][0];
}
