/* SPDX-License-Identifier: MIT */
#include "model/sections/ports.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "model/json_place.h"
#include "model/record.h"
#include "model/shape.h"
#include "report/record_rows.h"
#include "reported.h"
#include "model/rows.h"
#include "made.h"
#include "test.h"

#define S UINT64_C(1000000000)

static void set(struct port *port, enum metric_id id, uint64_t number)
{
	port->counters[id - METRIC_NODE_PORT_TRANSMIT_BYTES] = (struct value){ number, true };
}

static struct value get(const struct ports *p, size_t i, enum metric_id id)
{
	return p->items[i].counters[id - METRIC_NODE_PORT_TRANSMIT_BYTES];
}

static char *text_of(const struct ports *p)
{
	struct made_text t = {};

	shape_format(&ports_shape, p, made_text_document(&t, DOCUMENT_ONE_LINE));
	return made_text_end(&t);
}

static int parse(const char *text, struct ports *ret, struct error *err)
{
	struct place place = { .key = "ports", .err = err };
	json_t *json = json_loads(text, 0, NULL);
	int r = shape_parse(&ports_shape, &place, json, ret);

	json_decref(json);
	return r;
}

static struct ports make(uint64_t sent, uint64_t received)
{
	struct ports p = {};
	struct port *port = ports_add(&p, "mlx5_0", "1");

	port->from_ns = 1700000000 * S;
	port->to_ns = 1700000100 * S;
	set(port, METRIC_NODE_PORT_TRANSMIT_BYTES, sent);
	set(port, METRIC_NODE_PORT_RECEIVE_BYTES, received);
	return p;
}

TEST(ports_come_back_as_they_were_written)
{
	struct ports p = make(1048583, 17), back = {};
	_cleanup_free_ char *text = NULL;
	struct error err = {};

	set(ports_add(&p, "hfi1_0", "2"), METRIC_NODE_PORT_LINK_FAILURES, 3);
	text = text_of(&p);
	ASSERT_CONTAINS(
		text,
		"\"device\":\"mlx5_0\",\"port\":\"1\",\"from\":\"2023-11-14T22:13:20.000000000Z\"");
	ASSERT_CONTAINS(
		text, "\"transmit_bytes\":1048583,\"receive_bytes\":17,\"transmit_packets\":null,");
	ASSERT_CONTAINS(text, "\"link_failures\":3}");
	ASSERT_OK(parse(text, &back, &err));
	ASSERT_EQ(back.count, (size_t)2);
	ASSERT_TEXT(text_of(&back), text);
}

TEST(ports_of_two_nodes_are_added_by_their_names)
{
	struct ports a = make(7, 11), b = make(13, 17);

	b.items[0].from_ns -= S;
	b.items[0].to_ns += S;
	b.items[0]
		.counters[METRIC_NODE_PORT_RECEIVE_BYTES - METRIC_NODE_PORT_TRANSMIT_BYTES]
		.is_known = 0;
	set(ports_add(&b, "mlx5_0", "2"), METRIC_NODE_PORT_TRANSMIT_BYTES, 23);
	ports_merge(&a, &b);
	ASSERT_EQ(a.count, (size_t)2);
	ASSERT_EQ(get(&a, 0, METRIC_NODE_PORT_TRANSMIT_BYTES).number, (uint64_t)20);
	ASSERT(!get(&a, 0, METRIC_NODE_PORT_RECEIVE_BYTES).is_known);
	ASSERT_EQ(a.items[0].from_ns, 1699999999 * S);
	ASSERT_EQ(a.items[0].to_ns, 1700000101 * S);
	ASSERT_EQ(get(&a, 1, METRIC_NODE_PORT_TRANSMIT_BYTES).number, (uint64_t)23);
}

TEST(what_fell_or_was_not_there_is_not_known_of_a_difference)
{
	struct ports later = make(107, 11), earlier = make(7, 13);

	set(ports_add(&later, "mlx5_1", "1"), METRIC_NODE_PORT_TRANSMIT_BYTES, 23);
	ports_subtract(&later, &earlier);
	ASSERT_EQ(later.count, (size_t)1);
	ASSERT_EQ(get(&later, 0, METRIC_NODE_PORT_TRANSMIT_BYTES).number, (uint64_t)100);
	ASSERT(!get(&later, 0, METRIC_NODE_PORT_RECEIVE_BYTES).is_known);
	ASSERT_EQ(later.items[0].from_ns, earlier.items[0].to_ns);
}

static struct record *new_record(uint64_t sent)
{
	struct record *r = record_new();

	r->job.manager = strdup("slurm");
	r->job.id = strdup("42");
	r->ports = malloc(sizeof(*r->ports));
	*r->ports = make(sent, 17);
	return r;
}

TEST(a_record_tells_them_where_it_knows_them)
{
	_cleanup_(record_freep) struct record *one = new_record(107), *other = new_record(13),
					      *merged = NULL, *partly = NULL, *difference = NULL;
	const struct record *both[] = { one, other };
	struct error err = {};

	ASSERT_OK(record_merge(both, 2, &merged));
	ASSERT_EQ(get(merged->ports, 0, METRIC_NODE_PORT_TRANSMIT_BYTES).number, (uint64_t)120);
	ASSERT_EQ(get(one->ports, 0, METRIC_NODE_PORT_TRANSMIT_BYTES).number, (uint64_t)107);
	ASSERT_OK(record_subtract(one, other, &difference, &err));
	ASSERT_EQ(get(difference->ports, 0, METRIC_NODE_PORT_TRANSMIT_BYTES).number, (uint64_t)94);
	free(other->ports);
	other->ports = NULL;
	ASSERT_OK(record_merge(both, 2, &partly));
	ASSERT(!partly->ports);
}

TEST(ports_are_bounded)
{
	struct ports p = {};
	char name[16];

	for (int i = 0; i < PORTS_MAX; i++) {
		snprintf(name, sizeof(name), "mlx5_%d", i);
		ASSERT(ports_add(&p, name, "1"));
	}
	ASSERT(!ports_add(&p, "more", "1"));
	p.count = 0;
	ASSERT(!ports_add(&p, "a23456789012345678901234567890123456789012345678901234567890123z",
			  "1"));
	ASSERT(!ports_add(&p, "a", "1234567890123456"));
}

static void expect_report(const struct ports *p, const char *wanted)
{
	struct rows *rows = rows_new();
	_cleanup_free_ char *text = NULL;

	ports_rows(p, rows);
	text = reported_rows(rows, ROWS_TEXT, 100);
	ASSERT_STREQ(text, wanted);
}

TEST(a_report_says_what_is_known_and_what_went_wrong)
{
	struct ports p = make(1024, 2048);

	expect_report(NULL, "");
	expect_report(&p, "fabric      mlx5_0/1: sent 1 KiB, received 2 KiB (- and - packets)\n");
	set(&p.items[0], METRIC_NODE_PORT_TRANSMIT_PACKETS, 3);
	set(&p.items[0], METRIC_NODE_PORT_RECEIVE_PACKETS, 5);
	set(&p.items[0], METRIC_NODE_PORT_TRANSMIT_DISCARDS, 7);
	expect_report(
		&p,
		"fabric      mlx5_0/1: sent 1 KiB, received 2 KiB (3 and 5 packets), 7 discarded\n");
	set(&p.items[0], METRIC_NODE_PORT_TRANSMIT_DISCARDS, 0);
	p.items[0].is_shared = true;
	expect_report(
		&p,
		"fabric      mlx5_0/1: sent 1 KiB, received 2 KiB (3 and 5 packets), of the whole node\n");
}
