/* SPDX-License-Identifier: MIT */
#include "network_lines.h"

#include <stdio.h>
#include <string.h>

#include "macro.h"
#include "record.h"

/* clang-format off */
static const char *const labels[REACH_COUNT] = { [REACH_NETWORK] = "network", [REACH_NODE] = "in the node" };

static const struct {
	enum socket_kind kind;
	enum network_reach reach;
	const char *name;
} kinds[] = {
	{ SOCKET_TCP, REACH_NETWORK, "TCP" },
	{ SOCKET_UDP, REACH_NETWORK, "UDP" },
	{ SOCKET_OTHER, REACH_NETWORK, "other" },
	{ SOCKET_UNIX_STREAM, REACH_NODE, "streams" },
	{ SOCKET_UNIX_DGRAM, REACH_NODE, "datagrams" },
};
/* clang-format on */

static void add_kind(const struct network *n, size_t i, struct network_line *to)
{
	uint64_t sent = network_number(n, kinds[i].kind, METRIC_NETWORK_SENT_BYTES);
	uint64_t received = network_number(n, kinds[i].kind, METRIC_NETWORK_RECEIVED_BYTES);
	size_t length = strlen(to->kinds);

	if (!sent && !received)
		return;
	to->sent += sent;
	to->received += received;
	snprintf(to->kinds + length, sizeof(to->kinds) - length, "%s%s", length ? ", " : "",
		 kinds[i].name);
}

static void put_how_many(const struct network *n, enum network_reach reach, struct network_line *to)
{
	uint64_t connections = network_number(n, SOCKET_TCP, METRIC_NETWORK_OPENED) +
			       network_number(n, SOCKET_TCP, METRIC_NETWORK_ACCEPTED);
	uint64_t again = network_number(n, SOCKET_TCP, METRIC_NETWORK_RETRANSMITS), calls = 0;
	bool has_connections = n->has_connections && reach == REACH_NETWORK && connections;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i].reach == reach)
			calls += network_number(n, kinds[i].kind, METRIC_NETWORK_SENT_CALLS) +
				 network_number(n, kinds[i].kind, METRIC_NETWORK_RECEIVED_CALLS);
	}
	snprintf(to->how_many, sizeof(to->how_many), "%s %s%s",
		 humanize_count(has_connections ? connections : calls).text, has_connections ? "connection" : "call",
		 (has_connections ? connections : calls) == 1 ? "" : "s");
	if (has_connections && again)
		snprintf(to->again, sizeof(to->again), "%s segment%s sent again", humanize_count(again).text,
			 again == 1 ? "" : "s");
}

static void put_round_trips(const struct network *n, struct network_line *to)
{
	double half, most;

	if (!network_knows(n, METRIC_NETWORK_ROUND_TRIP_TIMES) || !network_knows(n, METRIC_NETWORK_LEAST_ROUND_TRIP) ||
	    histogram_quantile(HISTOGRAM_LATENCY, &n->round_trip_times, 0.5, &half) < 0 ||
	    histogram_quantile(HISTOGRAM_LATENCY, &n->round_trip_times, 0.99, &most) < 0)
		return;
	snprintf(to->round_trips, sizeof(to->round_trips), "half below %s, 99 %% below %s, least %s",
		 humanize_duration((uint64_t)half).text, humanize_duration((uint64_t)most).text,
		 humanize_duration(n->least_round_trip_ns).text);
}

struct human network_bytes(const struct network *n, enum metric_id id)
{
	return network_knows(n, id) ? humanize_bytes(network_total(n, id)) : (struct human){ "-" };
}

unsigned int network_lines(const struct record *r, struct network_line ret[REACH_COUNT])
{
	const struct network *n = &r->reading.network;
	unsigned int count = 0;

	for (size_t reach = 0; n->is_known && reach < REACH_COUNT; reach++) {
		struct network_line *line = &ret[count];

		*line = (struct network_line){ .label = labels[reach] };
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
			if (kinds[i].reach == reach)
				add_kind(n, i, line);
		}
		put_how_many(n, (enum network_reach)reach, line);
		if (reach == REACH_NETWORK)
			put_round_trips(n, line);
		count += *line->kinds != '\0';
	}
	return count;
}
