/* SPDX-License-Identifier: MIT */
#include "model/sections/block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "made.h"
#include "model/record.h"
#include "report/record_rows.h"
#include "reported.h"
#include "model/rows.h"
#include "model/section.h"
#include "model/sections.h"
#include "test.h"

static struct block_counts counts_of(uint64_t bytes, uint64_t requests)
{
	struct block_counts counts = {
		.bytes = bytes, .requests = requests, .errors = 1, .ns = requests * 1009
	};

	counts.latencies.counts[3] = requests;
	return counts;
}

static void add(struct block *b, const char *device, enum block_op op, uint64_t bytes,
		uint64_t requests)
{
	const struct block_counts counts = counts_of(bytes, requests);

	b->is_known = true;
	ASSERT_OK(block_add(b, device, op, &counts));
}

static uint64_t bytes_of(const struct block *b, const char *device, enum block_op op)
{
	const struct block_device *d = block_find(b, device);

	return d ? d->ops[op].bytes : UINT64_MAX;
}

TEST(rows_are_summed_by_device_and_operation_and_stand_in_order)
{
	_cleanup_(block_clear) struct block b = {};

	add(&b, "sdb", BLOCK_WRITE, 17, 1);
	add(&b, "nvme10n1", BLOCK_READ, 3, 1);
	add(&b, "nvme9n1", BLOCK_FLUSH, 0, 5);
	add(&b, "sdb", BLOCK_READ, 7, 2);
	add(&b, "sdb", BLOCK_WRITE, 11, 4);
	ASSERT_EQ(b.count, (size_t)3);
	ASSERT_STREQ(b.items[0].name, "nvme9n1");
	ASSERT_STREQ(b.items[1].name, "nvme10n1");
	ASSERT_EQ(bytes_of(&b, "sdb", BLOCK_WRITE), (uint64_t)28);
	ASSERT_EQ(block_find(&b, "sdb")->ops[BLOCK_WRITE].latencies.counts[3], (uint64_t)5);
	ASSERT(!block_has(block_find(&b, "sdb"), METRIC_BLOCK_DISCARD_BYTES));
	ASSERT(!block_find(&b, "sd"));
	ASSERT_EQ(block_total(&b, METRIC_BLOCK_READ_BYTES), (uint64_t)10);
	ASSERT_EQ(block_total(&b, METRIC_BLOCK_FLUSH_REQUESTS), (uint64_t)5);
}

TEST(a_sum_is_known_where_all_its_parts_are)
{
	struct block a = {}, b = {};

	add(&a, "sda", BLOCK_READ, 5, 1);
	add(&b, "sda", BLOCK_READ, 7, 1);
	add(&b, "sdb", BLOCK_READ, 9, 1);
	ASSERT_OK(section_add(&block_section, &a, &b));
	ASSERT(a.is_known && a.count == 2);
	ASSERT_EQ(bytes_of(&a, "sda", BLOCK_READ), (uint64_t)12);
	ASSERT_OK(section_add(&block_section, &a, &(struct block){}));
	ASSERT(!a.is_known && a.count == 0);
	block_clear(&b);
}

TEST(a_difference_is_what_was_added_and_unknown_where_a_number_fell)
{
	_cleanup_(strings_clear) struct strings notes = {};
	struct block later = {}, earlier = {};

	add(&earlier, "sda", BLOCK_READ, 5, 2);
	add(&earlier, "sdb", BLOCK_READ, 5, 2);
	ASSERT_OK(section_copy(&block_section, &later, &earlier));
	add(&later, "sda", BLOCK_READ, 100, 3);
	ASSERT_OK(section_subtract(&block_section, &later, &earlier, &notes));
	ASSERT(later.is_known && later.count == 1); /* nothing was done on the other */
	ASSERT_EQ(bytes_of(&later, "sda", BLOCK_READ), (uint64_t)100);
	ASSERT_EQ(later.items[0].ops[BLOCK_READ].latencies.counts[3], (uint64_t)3);

	ASSERT_OK(section_subtract(&block_section, &later, &earlier, &notes));
	ASSERT(!later.is_known && !later.items);
	ASSERT_EQ(notes.count, (size_t)1);
	block_clear(&earlier);
}

TEST(each_metric_has_its_operation_and_number)
{
	_cleanup_(block_clear) struct block b = {};

	for (size_t op = 0; op < BLOCK_OP_COUNT; op++)
		ASSERT_OK(block_add(&b, "sda", (enum block_op)op,
				    &(struct block_counts){ .bytes = 10 * op + 1,
							    .requests = 10 * op + 2,
							    .errors = 10 * op + 3,
							    .ns = 10 * op + 4 }));
	ASSERT_EQ(block_number(&b.items[0], METRIC_BLOCK_READ_REQUESTS), (uint64_t)2);
	ASSERT_EQ(block_number(&b.items[0], METRIC_BLOCK_WRITE_SECONDS), (uint64_t)14);
	ASSERT_EQ(block_number(&b.items[0], METRIC_BLOCK_DISCARD_BYTES), (uint64_t)21);
	ASSERT_EQ(block_number(&b.items[0], METRIC_BLOCK_FLUSH_ERRORS), (uint64_t)33);
	for (size_t id = METRIC_BLOCK_FIRST; id < METRIC_BLOCK_END; id++)
		ASSERT_EQ(metric_get((enum metric_id)id)->scope, SCOPE_DEVICE);
}

TEST(a_record_comes_back_as_it_was_written)
{
	_cleanup_(record_freep) struct record *r = made_record(0), *again = NULL;
	_cleanup_free_ char *unknown = made_json(r), *text = NULL;

	ASSERT(!strstr(unknown, "\"block\""));
	r->reading.block.is_known = true;
	ASSERT_TOLD(made_json(r), "\"block\": []");
	add(&r->reading.block, "nvme0n1", BLOCK_READ, 10007, 101);
	add(&r->reading.block, "nvme0n1", BLOCK_FLUSH, 0, 3);
	add(&r->reading.block, "sda", BLOCK_DISCARD, 4096, 1);
	text = made_json(r);
	ASSERT_CONTAINS(text, "\"device\": \"nvme0n1\"");
	again = made_again(text, NULL);
	ASSERT(again && again->reading.block.is_known && again->reading.block.count == 2);
	ASSERT_EQ(memcmp(again->reading.block.items, r->reading.block.items,
			 2 * sizeof(struct block_device)),
		  0);
	ASSERT_TEXT(made_json(again), text);
}

TEST(a_difference_without_mounts_keeps_its_devices)
{
	_cleanup_(record_freep) struct record *a = made_record(0), *b = made_record(0),
					      *rest = NULL;
	struct error err;

	add(&a->reading.block, "sda", BLOCK_READ, 1000, 10);
	b->reading.block.is_known = b->reading.network.is_known = a->reading.network.is_known =
		true;
	b->reading.has_mounts = false;
	ASSERT_OK(record_subtract(a, b, &rest, &err));
	ASSERT(!rest->reading.has_mounts && rest->reading.network.is_known);
	ASSERT_EQ(bytes_of(&rest->reading.block, "sda", BLOCK_READ), (uint64_t)1000);
}

TEST(csv_has_a_row_a_device_or_the_sums)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	_cleanup_free_ char *unknown = made_csv(r, ROWS_DEVICE);

	ASSERT_CONTAINS(
		unknown,
		",device,block_read_bytes,block_read_requests,block_read_errors,block_read_seconds,"
		"block_write_bytes,");
	ASSERT_STREQ(strchr(unknown, '\n'), "\n");
	add(&r->reading.block, "sda", BLOCK_READ, 1000, 10);
	add(&r->reading.block, "sdb", BLOCK_READ, 300, 3);
	add(&r->reading.block, "sdb", BLOCK_FLUSH, 0, 7);
	ASSERT_TOLD(made_csv(r, ROWS_DEVICE), ",sda,1000,10,1,0.00001009,0,0,0,0,0,0,0,0,0,0,0\n",
		    ",sdb,300,3,1,0.000003027,0,0,0,0,0,0,0,0,7,1,0.000007063\n");
	ASSERT_TOLD(made_csv(r, ROWS_RECORD),
		    ",1300,13,2,0.000013117,0,0,0,0,0,0,0,0,7,1,0.000007063\n");
}

static char *report(const struct record *r)
{
	struct rows *rows = rows_new();

	block_rows(&r->reading.block, rows);
	return reported_rows(rows, ROWS_TEXT, 100);
}

TEST(reports_tell_the_busiest_device_first_and_nothing_where_there_is_none)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	_cleanup_free_ char *some = NULL;

	ASSERT_TEXT(report(r), "");
	add(&r->reading.block, "sda", BLOCK_READ, 1000, 10);
	add(&r->reading.block, "sdb", BLOCK_WRITE, 3000, 3);
	some = report(r);
	ASSERT_CONTAINS(
		some,
		"\n            sdb          0         0     -  2.9 KiB         3  2 µs        0\n");
	ASSERT(strstr(some, "sdb") < strstr(some, "sda"));
}
