/* SPDX-License-Identifier: MIT */
#include "html_histogram.h"
#include "html_parts.h"
#include "html_table.h"
#include "hue.h"
#include "humanize.h"
#include "record.h"

static void put_direction(const struct network *n, enum socket_kind kind, enum metric_id first,
			  struct html *h)
{
	html_table_cell(h, "%s", humanize_bytes(network_number(n, kind, first)).text);
	html_table_cell(h, "%s", humanize_count(network_number(n, kind, first + 1)).text);
	html_table_cell(h, "%s", humanize_count(network_number(n, kind, first + 2)).text);
}

static void put_round_trips(const struct network *n, struct html *h)
{
	if (!network_knows(n, METRIC_NETWORK_ROUND_TRIP_TIMES) || !network_knows(n, METRIC_NETWORK_LEAST_ROUND_TRIP))
		return;
	html_begin_class(h, "div", "histograms");
	html_begin_class(h, "div", "grid");
	html_put_histogram(HISTOGRAM_LATENCY, &n->round_trip_times, &hue_received, "Round-trip time of TCP", h);
	html_end(h);
	html_end(h);
	html_element(h, "p", NULL, "The least round-trip time was %s.", humanize_duration(n->least_round_trip_ns).text);
}

void html_put_network(const struct record *r, struct html *h)
{
	static const struct html_column columns[] = {
		{ "sockets" },
		{ "bytes", .group = "sent" },
		{ "calls", .group = "sent" },
		{ "failed", .group = "sent" },
		{ "bytes", .group = "received" },
		{ "calls", .group = "received" },
		{ "failed", .group = "received" },
	};
	const struct network *n = &r->reading.network;
	bool is_any = false;

	for (size_t kind = 0; kind < SOCKET_KIND_COUNT; kind++)
		is_any |= network_has_kind(n, (enum socket_kind)kind);
	if (!n->is_known || !is_any)
		return;
	html_begin(h, "section");
	html_element(h, "h2", NULL, "Network");
	html_table_begin(h, "Network", columns, ARRAY_SIZE(columns));
	for (size_t kind = 0; kind < SOCKET_KIND_COUNT; kind++) {
		if (!network_has_kind(n, (enum socket_kind)kind))
			continue;
		html_table_begin_row(h, "%s", socket_kind_name((enum socket_kind)kind));
		html_table_end_name(h);
		put_direction(n, (enum socket_kind)kind, METRIC_NETWORK_SENT_BYTES, h);
		put_direction(n, (enum socket_kind)kind, METRIC_NETWORK_RECEIVED_BYTES, h);
		html_table_end_row(h);
	}
	html_table_end(h);
	put_round_trips(n, h);
	html_end(h);
}
