/* SPDX-License-Identifier: MIT */
#include "model/sections/steps.h"

#include <stdio.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "basic/error.h"
#include "model/json_place.h"
#include "model/section.h"
#include "model/sections.h"
#include "model/shape.h"
#include "made.h"
#include "test.h"

#define _cleanup_steps_ _cleanup_(steps_clear)

static void set(struct step *step, enum metric_id id, uint64_t number)
{
	step->values[id] = (struct value){ number, true };
}

static void set_sent(struct step *step, enum socket_kind kind, uint64_t bytes)
{
	step->network.is_known = step->network.has_connections = step->network.has_details = true;
	*network_number_ref(&step->network, kind, METRIC_NETWORK_SENT_BYTES) = bytes;
}

static uint64_t sent_of(const struct step *step, enum socket_kind kind)
{
	return network_number(&step->network, kind, METRIC_NETWORK_SENT_BYTES);
}

static char *text_of(const struct steps *steps)
{
	struct made_text t = {};

	section_format(&steps_section, steps, made_text_document(&t, DOCUMENT_ONE_LINE));
	return made_text_end(&t);
}

static int parse(const char *text, struct steps *ret, struct error *err)
{
	struct place place = { .key = "steps", .err = err };
	json_t *json = json_loads(text, 0, NULL);
	int r = shape_parse(steps_section.shape, &place, json, ret);

	json_decref(json);
	return r;
}

TEST(steps_come_back_as_they_were_written)
{
	_cleanup_steps_ struct steps steps = {}, back = {};
	_cleanup_free_ char *text = NULL;
	struct step *step = steps_add(&steps, "batch");
	struct error err = {};

	step->start_ns = UINT64_C(1700000000000000000);
	set(step, METRIC_CPU_USER, 1234567891);
	set_sent(step, SOCKET_TCP, 1048583);
	set_sent(step, SOCKET_UNIX_DGRAM, 10007);
	step->network.min_rtt_ns = 31000;
	step = steps_add(&steps, "ex\"tern\n");
	set(step, METRIC_MEMORY_PEAK, 4099);
	text = text_of(&steps);
	ASSERT_OK(parse(text, &back, &err));
	ASSERT_EQ(back.count, 2U);
	ASSERT_EQ(back.items[0].values[METRIC_CPU_USER].number, 1234567891U);
	ASSERT(!back.items[0].values[METRIC_MEMORY_PEAK].is_known);
	ASSERT_EQ(back.items[1].values[METRIC_MEMORY_PEAK].number, 4099U);
	ASSERT_EQ(sent_of(&back.items[0], SOCKET_TCP), 1048583U);
	ASSERT_EQ(sent_of(&back.items[0], SOCKET_UNIX_DGRAM), 10007U);
	ASSERT_EQ(back.items[0].network.min_rtt_ns, 31000U);
	ASSERT(!back.items[1].network.is_known);
	ASSERT_TEXT(text_of(&back), text);
}

TEST(steps_of_two_nodes_become_one_by_their_ids)
{
	_cleanup_steps_ struct steps a = {}, b = {};
	struct step *step = steps_add(&a, "0");

	set(step, METRIC_CPU_USER, 7);
	set(step, METRIC_MEMORY_PEAK, 11);
	set_sent(step, SOCKET_UDP, 7);
	step->start_ns = 5;
	step->end_ns = 9;
	step = steps_add(&b, "0");
	set(step, METRIC_CPU_USER, 3);
	set(step, METRIC_MEMORY_PEAK, 13);
	set_sent(step, SOCKET_UDP, 3);
	step->start_ns = 4;
	set(steps_add(&b, "1"), METRIC_CPU_USER, 17);
	set_sent(steps_find(&b, "1"), SOCKET_UDP, 23);
	ASSERT_OK(steps_section.add(&a, &b));
	ASSERT_EQ(a.count, 2U);
	ASSERT_EQ(a.items[0].values[METRIC_CPU_USER].number, 10U);
	ASSERT_EQ(a.items[0].values[METRIC_MEMORY_PEAK].number, 13U);
	ASSERT_EQ(a.items[0].start_ns, 4U);
	ASSERT_EQ(a.items[0].end_ns, 0U); /* on one node it still runs */
	ASSERT_EQ(a.items[1].values[METRIC_CPU_USER].number, 17U);
	ASSERT_EQ(sent_of(&a.items[0], SOCKET_UDP), 10U);
	ASSERT_EQ(sent_of(&a.items[1], SOCKET_UDP), 23U);
}

TEST(what_one_node_does_not_know_of_a_steps_network_is_not_known_of_the_sum)
{
	_cleanup_steps_ struct steps a = {}, b = {};

	set_sent(steps_add(&a, "0"), SOCKET_TCP, 7);
	set(steps_add(&b, "0"), METRIC_CPU_USER, 3);
	ASSERT_OK(steps_section.add(&a, &b));
	ASSERT(!a.items[0].network.is_known);
}

TEST(steps_are_bounded)
{
	_cleanup_steps_ struct steps steps = {};
	char id[16];

	for (int i = 0; i < STEPS_MAX; i++) {
		snprintf(id, sizeof(id), "%d", i);
		ASSERT(steps_add(&steps, id));
	}
	ASSERT(!steps_add(&steps, "more"));
	ASSERT(!steps_find(&steps, "more"));
	ASSERT(steps_find(&steps, "4095"));
}

TEST(a_manager_starts_ranks_in_numbered_steps)
{
	ASSERT(step_has_ranks("0") && step_has_ranks("12") && step_has_ranks("7+1"));
	ASSERT(!step_has_ranks("batch") && !step_has_ranks("extern") && !step_has_ranks(""));
}
