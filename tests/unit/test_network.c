/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "made.h"
#include "model/sections/network.h"
#include "model/parts.h"
#include "report/record_rows.h"
#include "reported.h"
#include "model/rows.h"
#include "model/section.h"
#include "model/sections.h"
#include "test.h"

static void fill(struct network *n, uint64_t first)
{
	n->is_known = n->has_connections = n->has_details = true;
	for (size_t id = METRIC_NETWORK_FIRST; id < METRIC_NETWORK_END; id++) {
		*network_number_ref(n, SOCKET_TCP, (enum metric_id)id) = first++;
		if (network_takes(SOCKET_UNIX_STREAM, (enum metric_id)id))
			*network_number_ref(n, SOCKET_UNIX_STREAM, (enum metric_id)id) = first++;
	}
	n->rtt_distribution.counts[7] = first;
	n->rtt_distribution.counts[11] = first + 4;
}

TEST(kinds_have_names_that_lead_back)
{
	for (size_t kind = 0; kind < SOCKET_KIND_COUNT; kind++)
		ASSERT_EQ(socket_kind_find(socket_kind_name((enum socket_kind)kind)), kind);
	ASSERT_EQ(socket_kind_find("carrier pigeon"), SOCKET_KIND_COUNT);
}

TEST(a_record_comes_back_as_it_was_written)
{
	_cleanup_(record_freep) struct record *r = made_record(0), *again = NULL;
	_cleanup_free_ char *text = NULL;

	fill(&r->reading.network, 1009);
	text = made_json(r);
	again = made_again(text, NULL);
	ASSERT(again && again->reading.network.is_known);
	ASSERT_EQ(memcmp(again->reading.network.numbers, r->reading.network.numbers,
			 sizeof(r->reading.network.numbers)),
		  0);
	ASSERT(again->reading.network.has_details);
	ASSERT_EQ(again->reading.network.min_rtt_ns, r->reading.network.min_rtt_ns);
	ASSERT_EQ(memcmp(&again->reading.network.rtt_distribution,
			 &r->reading.network.rtt_distribution, sizeof(struct histogram)),
		  0);
	ASSERT(strstr(text, "\"tcp\"") && !strstr(text, "\"udp\"")); /* which was not used */
}

TEST(what_nobody_looked_at_is_not_there_and_what_was_not_used_is_empty)
{
	_cleanup_(record_freep) struct record *r = made_record(0), *again = NULL;
	_cleanup_free_ char *unknown = made_json(r), *unused = NULL;

	ASSERT(!strstr(unknown, "\"network\""));
	r->reading.network.is_known = true;
	unused = made_json(r);
	ASSERT_CONTAINS(unused, "\"network\": {}");
	again = made_again(unused, NULL);
	ASSERT(again && again->reading.network.is_known);
}

static const struct network *keep(struct parts *parts, struct network n)
{
	ASSERT_OK(parts_put(parts, &network_section, &n));
	ASSERT(network_is_empty(&n) && !n.is_known); /* it was taken over */
	return network_of(parts);
}

TEST(one_that_is_kept_is_a_copy_and_those_that_are_empty_are_shared)
{
	_cleanup_(parts_clear) struct parts parts = {}, others = {};
	struct network n = {};
	const struct network *kept, *unknown = keep(&parts, n);

	ASSERT(!unknown->is_known && !unknown->has_connections && network_is_empty(unknown));
	for (unsigned int known = 0; known < 4; known++) { /* each with its own way of being known
							    */
		n = (struct network){ .is_known = true,
				      .has_connections = known & 1,
				      .has_details = known & 2 };
		ASSERT(network_is_empty(&n));
		kept = keep(&parts, n);
		ASSERT(kept == keep(&others, n) && kept != unknown);
		ASSERT(kept->is_known && kept->has_connections == (known & 1) &&
		       kept->has_details == (bool)(known & 2));
		ASSERT(network_is_empty(kept));
	}
	n.numbers[NETWORK_PLACES - 1] = 1;
	ASSERT(!network_is_empty(&n));
	kept = keep(&parts, n);
	ASSERT(kept != keep(&others, n));
	ASSERT_EQ(kept->numbers[NETWORK_PLACES - 1], (uint64_t)1);
	n = (struct network){ .min_rtt_ns = 1 };
	ASSERT(!network_is_empty(&n));
	n = (struct network){ .rtt_distribution.counts[HISTOGRAM_BUCKETS - 1] = 1 };
	ASSERT(!network_is_empty(&n));
}

TEST(a_sum_is_known_where_all_its_parts_are)
{
	struct network a = {}, b = {};

	fill(&a, 3);
	fill(&b, 100);
	(void)network_section.add(&a, &b);
	ASSERT(a.is_known);
	ASSERT_EQ(network_number(&a, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES), 103u);
	ASSERT_EQ(network_total(&a, METRIC_NETWORK_SENT_BYTES), 103u + 105u);
	(void)network_section.add(&a, &(struct network){});
	ASSERT(!a.is_known && network_total(&a, METRIC_NETWORK_SENT_BYTES) == 0);
}

TEST(a_difference_is_what_was_added_and_unknown_where_a_number_fell)
{
	struct network later = {}, earlier = {}, none = {};

	fill(&later, 1009);
	fill(&earlier, 1000);
	(void)network_section.subtract(&later, &earlier, NULL);
	ASSERT(later.is_known && later.has_connections);
	ASSERT_EQ(network_number(&later, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES), 9u);
	ASSERT_EQ(network_number(&later, SOCKET_TCP, METRIC_NETWORK_ROUND_TRIPS), 9u);
	earlier.has_connections = false;
	fill(&later, 1009);
	(void)network_section.subtract(&later, &earlier, NULL);
	ASSERT(later.is_known && !later.has_connections);
	fill(&earlier, 1010);
	fill(&later, 1009);
	(void)network_section.subtract(&later, &earlier, NULL);
	ASSERT(!later.is_known);
	fill(&later, 1009);
	(void)network_section.subtract(&later, &none, NULL);
	ASSERT(!later.is_known);
}

TEST(tcps_own_numbers_are_unknown_where_its_connections_are_not_followed)
{
	_cleanup_(record_freep) struct record *r = made_record(0), *again = NULL;
	_cleanup_free_ char *text = NULL;
	struct network other = {};

	fill(&r->reading.network, 1009);
	fill(&other, 3);
	other.has_connections = false;
	(void)network_section.add(&r->reading.network, &other);
	ASSERT(r->reading.network.is_known &&
	       !network_knows(&r->reading.network, METRIC_NETWORK_OPENED));
	text = made_json(r);
	ASSERT_CONTAINS(text, "\"opened\": null");
	again = made_again(text, NULL);
	ASSERT(again && again->reading.network.is_known && !again->reading.network.has_connections);
}

TEST(of_round_trips_the_least_stays_and_the_spread_is_summed)
{
	struct network a = { .is_known = true, .has_connections = true, .has_details = true },
		       b = a, none = a;

	b.min_rtt_ns = 31000;
	b.rtt_distribution.counts[7] = 13;
	(void)network_section.add(&a, &b);
	ASSERT_EQ(a.min_rtt_ns, 31000u); /* that there was none is no 0 */
	b.min_rtt_ns = 29000;
	b.rtt_distribution.counts[7] = 17;
	(void)network_section.add(&a, &b);
	(void)network_section.add(&a, &none);
	ASSERT_EQ(a.min_rtt_ns, 29000u);
	ASSERT_EQ(a.rtt_distribution.counts[7], 30u);
	b.has_details = false;
	(void)network_section.add(&a, &b);
	ASSERT(a.has_connections && !a.has_details);
	ASSERT(!network_knows(&a, METRIC_NETWORK_LEAST_ROUND_TRIP) &&
	       network_knows(&a, METRIC_NETWORK_ROUND_TRIPS));
}

TEST(a_differences_least_round_trip_is_known_where_it_is_new)
{
	struct network later = { .is_known = true, .has_connections = true, .has_details = true };
	struct network earlier = later;

	later.min_rtt_ns = 29000;
	later.rtt_distribution.counts[7] = 30;
	earlier.min_rtt_ns = 31000;
	earlier.rtt_distribution.counts[7] = 13;
	(void)network_section.subtract(&later, &earlier, NULL);
	ASSERT(later.is_known);
	ASSERT_EQ(later.min_rtt_ns, 29000u);
	ASSERT_EQ(later.rtt_distribution.counts[7], 17u);
	earlier = later;
	(void)network_section.subtract(&later, &earlier, NULL);
	ASSERT(later.has_details && !network_knows(&later, METRIC_NETWORK_LEAST_ROUND_TRIP));
	earlier.rtt_distribution.counts[7] = 1;
	(void)network_section.subtract(&later, &earlier, NULL);
	ASSERT(!later.is_known);
}

TEST(an_older_record_knows_its_connections_without_their_round_trip_times)
{
	_cleanup_(record_freep) struct record *old = made_again(
		"{\"schema\": \"jobmeter.record/1\", \"network\": {\"tcp\": {\"connections\": {\"opened\": 3, \"accepted\": 0,"
		" \"retransmits\": 0, \"rtt_seconds\": 0.002, \"rtt_samples\": 5}}}}",
		NULL);

	ASSERT(old && old->reading.network.has_connections && !old->reading.network.has_details);
}

static char *report(const struct record *r)
{
	struct rows *rows = rows_new();

	network_rows(&r->reading.network, rows);
	return reported_rows(rows, ROWS_TEXT, 100);
}

TEST(reports_tell_how_long_rtt_samples_took)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	struct network *n = &r->reading.network;

	n->is_known = n->has_connections = n->has_details = true;
	*network_number_ref(n, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES) = 7;
	ASSERT_UNTOLD(report(r), "round trips");
	n->min_rtt_ns = 31000;
	n->rtt_distribution.counts[9] = 100; /* 65,536 to 131,072 ns */
	ASSERT_TOLD(
		report(r),
		"\n            round trips: half below 98.3 µs, 99 % below 130 µs, least 31 µs\n");
}

/* How many commas there are in that line; no text of a made record has one. */
static size_t cells_of(const char *text, size_t line)
{
	size_t cells = 0;

	while (line--)
		text = strchr(text, '\n') + 1;
	for (; *text != '\n'; text++)
		cells += *text == ',';
	return cells;
}

TEST(csv_by_socket_has_a_row_for_each_kind_that_was_used)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	_cleanup_free_ char *unknown = made_csv(r, ROWS_SOCKET), *known = NULL;

	ASSERT_CONTAINS(unknown, ",socket,network_sent_bytes,");
	ASSERT(strchr(unknown, '\n')[1] == '\0'); /* the header alone */
	fill(&r->reading.network, 1);
	known = made_csv(r, ROWS_SOCKET);
	ASSERT_CONTAINS(known, ",tcp,1,3,5,7,9,11,13,14,15,0.000000016,17,18,0.000000019\n");
	ASSERT_CONTAINS(known, ",unix_stream,2,4,6,8,10,12,,,,,,,\n");
	ASSERT(!strstr(known, ",udp,"));
	ASSERT_EQ(cells_of(known, 1), cells_of(known, 0));
	ASSERT_EQ(cells_of(known, 2), cells_of(known, 0));
}

TEST(csv_has_the_sum_over_kinds_or_nothing)
{
	_cleanup_(record_freep) struct record *r = made_record(0);

	ASSERT_TOLD(made_csv(r, ROWS_RECORD),
		    "network_sent_bytes,network_sent_calls,network_sent_errors,"
		    "network_received_bytes,",
		    ",,,,,,\n");
	fill(&r->reading.network, 1);
	ASSERT_TOLD(made_csv(r, ROWS_RECORD),
		    ",3,7,11,15,19,23,13,14,15,0.000000016,17,18,0.000000019,");
}

static void expect_report(const struct record *r, const char *wanted)
{
	_cleanup_free_ char *text = report(r);

	ASSERT_STREQ(text, wanted);
}

TEST(reports_tell_the_network_and_the_node_apart_and_nothing_of_what_was_not_used)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	struct network *n = &r->reading.network;

	expect_report(r, "");
	n->is_known = true;
	expect_report(r, "");
	*network_number_ref(n, SOCKET_UDP, METRIC_NETWORK_RECEIVED_BYTES) = 7;
	*network_number_ref(n, SOCKET_TCP, METRIC_NETWORK_SENT_BYTES) = 11;
	*network_number_ref(n, SOCKET_TCP, METRIC_NETWORK_SENT_CALLS) = 2;
	expect_report(r, "network     sent 11 B  received 7 B  (TCP, UDP, 2 calls)\n");
	n->has_connections = true;
	*network_number_ref(n, SOCKET_TCP, METRIC_NETWORK_ACCEPTED) = 14;
	*network_number_ref(n, SOCKET_TCP, METRIC_NETWORK_RETRANSMITS) = 1;
	expect_report(
		r,
		"network     sent 11 B  received 7 B  (TCP, UDP, 14 connections)  1 segment retransmitted\n");
	*network_number_ref(n, SOCKET_UNIX_DGRAM, METRIC_NETWORK_SENT_BYTES) = 3;
	expect_report(
		r,
		"network     sent 11 B  received 7 B  (TCP, UDP, 14 connections)  1 segment retransmitted\n"
		"in the node sent 3 B  received 0 B  (datagrams, 0 calls)\n");
}
