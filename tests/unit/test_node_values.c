/* SPDX-License-Identifier: MIT */
#include "model/node_values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "model/document.h"
#include "model/json_place.h"
#include "model/sample.h"
#include "made.h"
#include "test.h"

static char *text_of(const struct node_values *v)
{
	struct made_text t = {};
	struct document *d = made_text_document(&t, DOCUMENT_ONE_LINE);

	document_begin_map(d);
	node_values_format(v, d);
	document_end_map(d);
	return made_text_end(&t);
}

static int parse(const char *text, struct node_values *ret, struct error *err)
{
	const struct place place = { .err = err };
	json_t *root = NULL;
	int r;

	ASSERT_OK(place_parse_map(text, strlen(text), &root, err));
	r = node_values_parse(&place, root, ret);
	json_decref(root);
	return r;
}

TEST(of_several_cards_the_sum_is_taken)
{
	static const char *const cards[2][SAMPLE_LABELS_MAX] = { { "0" }, { "1" } };
	struct samples node = {}, gpus = {};
	struct node_values v = {};

	ASSERT_OK(samples_add_plain(&node, METRIC_NODE_CPUS, 31));
	for (size_t i = 0; i < 2; i++) {
		ASSERT_OK(samples_add(&gpus, METRIC_NODE_GPU_INFO, cards[i], 1));
		ASSERT_OK(samples_add(&gpus, METRIC_NODE_GPU_POWER, cards[i], 411000000 + i));
	}
	ASSERT_OK(samples_add(&gpus, METRIC_NODE_GPU_UTILIZATION, cards[0], 61));
	node_values_add(&v, &node, 7);
	node_values_add(&v, &gpus, 7);
	ASSERT_EQ((uint64_t)v.values[NODE_CPUS].number, UINT64_C(31));
	ASSERT_EQ((uint64_t)v.values[NODE_GPUS].number, UINT64_C(2));
	ASSERT_EQ((uint64_t)v.values[NODE_GPU_BUSY].number, UINT64_C(61));
	ASSERT_EQ((uint64_t)v.values[NODE_GPU_POWER].number, UINT64_C(822000001));
	ASSERT(!v.values[NODE_GPU_MEMORY_USED].is_known);
	samples_clear(&node);
	samples_clear(&gpus);
}

TEST(what_was_sampled_comes_back_and_the_rest_is_not_known)
{
	static const struct row {
		enum metric_id id;
		enum node_value value;
		uint64_t number;
	} rows[] = {
		{ METRIC_NODE_CPUS, NODE_CPUS, 31 },
		{ METRIC_NODE_CPU_IOWAIT, NODE_CPU_IOWAIT, 1009000000007 },
		{ METRIC_NODE_LOAD_5, NODE_LOAD_5, 1013 },
		{ METRIC_NODE_SWAP_TOTAL, NODE_SWAP_TOTAL, 0 },
		{ METRIC_NODE_PRESSURE_IO_WAITING, NODE_PRESSURE_IO, 17000 },
	};
	struct samples samples = {};
	struct node_values v = {}, back = {};
	_cleanup_free_ char *text = NULL;
	size_t known = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		ASSERT_OK(samples_add_plain(&samples, rows[i].id, rows[i].number));
	node_values_add(&v, &samples, 1009000000007);
	samples_clear(&samples);
	text = text_of(&v);
	ASSERT_CONTAINS(text, "\"load5\":10.13");
	ASSERT_CONTAINS(text, "\"load1\":null");
	ASSERT_OK(parse(text, &back, NULL));
	ASSERT_EQ(back.boot_ns, UINT64_C(1009000000007));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ASSERT(back.values[rows[i].value].is_known);
		ASSERT_EQ((uint64_t)back.values[rows[i].value].number, rows[i].number);
	}
	for (size_t i = 0; i < NODE_VALUE_COUNT; i++)
		known += back.values[i].is_known;
	ASSERT_EQ((uint64_t)known, (uint64_t)ARRAY_SIZE(rows));
}

TEST(where_nothing_is_known_nothing_is_said)
{
	const struct node_values none = {};
	struct node_values v = { .boot_ns = 7 };
	_cleanup_free_ char *text = text_of(&none);

	ASSERT_LACKS(text, "node");
	ASSERT_OK(parse(text, &v, NULL));
	ASSERT_EQ(v.boot_ns, UINT64_C(7)); /* it is left alone */
}

TEST(what_is_no_number_is_refused)
{
	static const struct row {
		const char *text, *error;
	} rows[] = {
		{ "{\"node\": 7}", "node is a number and should be a map" },
		{ "{\"node\": {\"load1\": \"x\"}}", "node.load1 is a string" },
		{ "{\"node\": {\"cpus\": -1}}", "node.cpus" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct node_values v = { .boot_ns = 7 };
		struct error err = {};

		ASSERT_ERR(parse(rows[i].text, &v, &err), -EINVAL);
		ASSERT_CONTAINS(err.text, rows[i].error);
		ASSERT_EQ(v.boot_ns, UINT64_C(7));
	}
}
