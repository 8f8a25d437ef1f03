/* SPDX-License-Identifier: MIT */
#include "analysis/working_time.h"
#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "model/sections/network.h"
#include "model/record.h"
#include "model/sections/ports.h"
#include "report/record_rows.h"
#include "report/rows_items.h"
#include "report/sentence.h"

#define LITTLE_BYTES 1048576 /* no news on a first screen, unless it was waited for */
#define WAIT_MIN 0.1 /* of the working time */

/* ---- in short: what went out of the node, and what stayed in it ---- */

enum reach { REACH_NETWORK, REACH_NODE, REACH_COUNT };

/* clang-format off */
static const struct {
	enum socket_kind kind;
	enum reach reach;
	const char *name;
} kinds[] = {
	{ SOCKET_TCP, REACH_NETWORK, "TCP" },
	{ SOCKET_UDP, REACH_NETWORK, "UDP" },
	{ SOCKET_OTHER, REACH_NETWORK, "other" },
	{ SOCKET_UNIX_STREAM, REACH_NODE, "streams" },
	{ SOCKET_UNIX_DGRAM, REACH_NODE, "datagrams" },
};
/* clang-format on */

struct sum {
	uint64_t sent, received, calls;
	struct sentence kinds; /* those that moved bytes */
};

/* "12 connections", or calls if there were none or they were not counted. */
static void say_count(const struct network *n, enum reach reach, uint64_t calls, struct rows *rows)
{
	uint64_t connections = network_number(n, SOCKET_TCP, METRIC_NETWORK_OPENED) +
			       network_number(n, SOCKET_TCP, METRIC_NETWORK_ACCEPTED);
	uint64_t again = network_number(n, SOCKET_TCP, METRIC_NETWORK_RETRANSMITS);
	bool has_connections = n->has_connections && reach == REACH_NETWORK && connections;
	uint64_t count = has_connections ? connections : calls;

	rows_say(rows, ", ", "%s %s%s)", humanize_count(count).text,
		 has_connections ? "connection" : "call", count == 1 ? "" : "s");
	if (has_connections && again)
		rows_say(rows, "  ", "%s segment%s retransmitted", humanize_count(again).text,
			 again == 1 ? "" : "s");
}

static bool knows_rtt_samples(const struct network *n)
{
	return network_knows(n, METRIC_NETWORK_ROUND_TRIP_TIMES) &&
	       network_knows(n, METRIC_NETWORK_LEAST_ROUND_TRIP);
}

static void add_rtt_samples(const struct network *n, struct rows *rows)
{
	double half, most;

	if (!knows_rtt_samples(n) ||
	    histogram_quantile(HISTOGRAM_LATENCY, &n->rtt_distribution, 0.5, &half) < 0 ||
	    histogram_quantile(HISTOGRAM_LATENCY, &n->rtt_distribution, 0.99, &most) < 0)
		return;
	rows_line(rows, ROWS_SHORT, NULL, "round trips: half below %s, 99 %% below %s, least %s",
		  humanize_duration((uint64_t)half).text, humanize_duration((uint64_t)most).text,
		  humanize_duration(n->min_rtt_ns).text);
}

static void add_reach(const struct network *n, enum reach reach, unsigned int forms,
		      const char *label, struct rows *rows)
{
	struct sum sum = {};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i].reach == reach) {
			enum socket_kind kind = kinds[i].kind;
			uint64_t sent = network_number(n, kind, METRIC_NETWORK_SENT_BYTES);
			uint64_t received = network_number(n, kind, METRIC_NETWORK_RECEIVED_BYTES);

			sum.calls += network_number(n, kind, METRIC_NETWORK_SENT_CALLS) +
				     network_number(n, kind, METRIC_NETWORK_RECEIVED_CALLS);
			sum.sent += sent;
			sum.received += received;
			if (sent || received)
				sentence_add(&sum.kinds, ", ", "%s", kinds[i].name);
		}
	}
	if (!sum.kinds.text)
		return;
	rows_line(rows, forms, label, "%ssent %s  received %s  (%s", rows_bound(rows),
		  humanize_bytes(sum.sent).text, humanize_bytes(sum.received).text, sum.kinds.text);
	say_count(n, reach, sum.calls, rows);
	if (reach == REACH_NETWORK && forms & ROWS_TEXT)
		add_rtt_samples(n, rows);
	sentence_freep(&sum.kinds);
}

/* ---- by kind of socket ---- */

static void add_direction(const struct network *n, enum socket_kind kind, enum metric_id first,
			  struct rows_table *table)
{
	rows_cell(table, cell_number(ROWS_BYTES, network_number(n, kind, first)));
	rows_cell(table, cell_number(ROWS_COUNT, network_number(n, kind, first + 1)));
	rows_cell(table, cell_number(ROWS_COUNT, network_number(n, kind, first + 2)));
}

static void add_sockets(const struct network *n, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "sockets" },
		{ "bytes", .group = "sent" },
		{ "calls", .group = "sent" },
		{ "failed", .group = "sent" },
		{ "bytes", .group = "received" },
		{ "calls", .group = "received" },
		{ "failed", .group = "received" },
	};
	struct rows_table *table = rows_table(rows, ROWS_HTML, "network", columns,
					      ARRAY_SIZE(columns));

	for (size_t i = 0; i < SOCKET_KIND_COUNT; i++) {
		enum socket_kind kind = (enum socket_kind)i;

		if (!network_has_kind(n, kind))
			continue;
		rows_row(table, ROWS_ALL);
		rows_cell(table, cell_words(socket_kind_name(kind)));
		add_direction(n, kind, METRIC_NETWORK_SENT_BYTES, table);
		add_direction(n, kind, METRIC_NETWORK_RECEIVED_BYTES, table);
	}
	if (knows_rtt_samples(n) &&
	    histogram_rows(NULL, "Round-trip time of TCP", HISTOGRAM_LATENCY, &n->rtt_distribution,
			   &shade_received, rows))
		rows_line(rows, ROWS_HTML, NULL, "the least round-trip time was %s",
			  humanize_duration(n->min_rtt_ns).text);
}

void network_rows(const struct network *n, struct rows *rows)
{
	rows_part(rows, "Network");
	if (!n->is_known)
		return;
	add_reach(n, REACH_NETWORK, ROWS_SHORT, "network", rows);
	add_reach(n, REACH_NODE, ROWS_SHORT, "in the node", rows);
	add_sockets(n, rows);
}

void network_row(const struct record *r, struct rows *rows)
{
	const struct network *n = &r->reading.network;
	const struct working_time work = working_time_of(r);
	uint64_t bytes;

	if (!n->is_known)
		return;
	bytes = network_total(n, METRIC_NETWORK_SENT_BYTES) +
		network_total(n, METRIC_NETWORK_RECEIVED_BYTES);
	if (bytes >= LITTLE_BYTES || work.parts[CAUSE_NETWORK] > WAIT_MIN * work.seconds)
		add_reach(n, REACH_NETWORK, ROWS_SCREEN, "Network", rows);
}

/* ---- fabric ports ---- */

static const struct value *counter_of(const struct port *port, enum metric_id id)
{
	return &port->counters[id - METRIC_NODE_PORT_TRANSMIT_BYTES];
}

static struct human format_counter(const struct port *port, enum metric_id id)
{
	const struct value *value = counter_of(port, id);

	if (!value->is_known)
		return (struct human){ "-" };
	return metric_get(id)->unit == UNIT_BYTES ? humanize_bytes(value->number)
						  : humanize_count(value->number);
}

/* "mlx5_0/1: sent 3.8 GiB, received 7.6 GiB (1.9 M and 3.8 M packets), 3 discarded", as far as it
 * is known. */
static void add_port(const struct port *port, const char *label, struct rows *rows)
{
	static const struct {
		enum metric_id id;
		const char *what;
	} troubles[] = {
		{ METRIC_NODE_PORT_TRANSMIT_DISCARDS, "discarded" },
		{ METRIC_NODE_PORT_RECEIVE_ERRORS, "received with an error" },
		{ METRIC_NODE_PORT_LINK_FAILURES, "times the link went down" },
	};

	rows_line(rows, ROWS_ALL, label, "%s/%s: sent %s, received %s (%s and %s packets)",
		  port->device, port->number,
		  format_counter(port, METRIC_NODE_PORT_TRANSMIT_BYTES).text,
		  format_counter(port, METRIC_NODE_PORT_RECEIVE_BYTES).text,
		  format_counter(port, METRIC_NODE_PORT_TRANSMIT_PACKETS).text,
		  format_counter(port, METRIC_NODE_PORT_RECEIVE_PACKETS).text);
	if (port->is_shared)
		rows_say(rows, ", ", "of the whole node");
	for (size_t i = 0; i < ARRAY_SIZE(troubles); i++) {
		if (counter_of(port, troubles[i].id)->number)
			rows_say(rows, ", ", "%s %s", format_counter(port, troubles[i].id).text,
				 troubles[i].what);
	}
}

void ports_rows(const struct ports *ports, struct rows *rows)
{
	for (size_t i = 0; ports && i < ports->count; i++)
		add_port(&ports->items[i], i ? NULL : "fabric", rows);
}
