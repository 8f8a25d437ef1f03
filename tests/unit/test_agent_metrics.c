/* SPDX-License-Identifier: MIT */
#include "agent/agent_metrics.h"
#include "load/losses.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "basic/cleanup.h"
#include "export/exposition.h"
#include "test.h"
#include "tree.h"

TEST(every_loss_has_a_name_of_its_own)
{
	for (unsigned int i = 0; i < LOST_COUNT; i++) {
		ASSERT(strcmp(lost_reason_name((enum lost_reason)i), "other") != 0);
		for (unsigned int j = 0; j < i; j++)
			ASSERT(strcmp(lost_reason_name((enum lost_reason)i),
				      lost_reason_name((enum lost_reason)j)) != 0);
	}
}

TEST(answers_are_counted_by_endpoint_and_status)
{
	struct scrapes s = {};

	for (size_t i = 0; i < 3; i++)
		scrapes_add(&s, "/metrics", 200);
	scrapes_add(&s, "/metrics", 401);
	scrapes_add(&s, NULL, 404);
	for (unsigned int i = 0; i < 2 * SCRAPES_MAX; i++)
		scrapes_add(&s, "/metrics", 1000 + i);
	ASSERT_EQ(s.count, (size_t)SCRAPES_MAX);
	ASSERT_EQ(s.items[0].count, (uint64_t)3);
	ASSERT_EQ(s.items[1].count, (uint64_t)1);
	ASSERT_STREQ(s.items[2].endpoint, "");
}

static struct agent_facts made_facts(void)
{
	static const struct hook hooks[] = {
		{ .tier = "T2", .program = "enter_call", .is_on = true },
		{ .tier = "T2+", .program = "place_open", .is_on = false },
		{ .tier = "T2", .program = "enter_call", .is_on = true },
	};
	static const struct older older = { .why = { [OBJECT_FILES] = "prog 'enter_call': no" } };
	struct agent_facts facts = { .version = "1.2.3",
				     .has_meter = true,
				     .losses.counts[LOSS_SKIPPED] = 7,
				     .hooks = hooks,
				     .older = &older,
				     .hook_count = 3,
				     .map_count = 1 };

	facts.sampler = (struct sampler_state){ .readings = 11,
						.failed_readings = 13,
						.last_reading_ns = 17,
						.jobs_live = 19,
						.jobs_ended = 23,
						.groups = 29,
						.walks = 31,
						.found_by_walk = 37,
						.state_errors = 41,
						.set_aside = 43,
						.bad_prologs = 71,
						.reopened_files = 73,
						.refused_files = 79 };
	facts.losses.counts[LOST_ROW] = 47;
	facts.maps[0] = (struct agent_map){ "rows", 53, 59 };
	facts.cpu_user_ns = (struct value){ 67, true };
	return facts;
}

TEST(facts_become_samples)
{
	struct agent_facts facts = made_facts();
	_cleanup_(samples_clear) struct samples s = {};

	ASSERT_OK(agent_facts_put(&facts, &s));
	ASSERT_STREQ(samples_find(&s, METRIC_AGENT_INFO, NULL)->labels[0], "1.2.3");
	ASSERT_EQ(samples_find(&s, METRIC_AGENT_FOUND_BY_WALK, NULL)->number, (uint64_t)37);
	ASSERT_EQ(samples_find(&s, METRIC_AGENT_BAD_PROLOGS, NULL)->number, (uint64_t)71);
	ASSERT_EQ(samples_find(&s, METRIC_AGENT_REOPENED_FILES, NULL)->number, (uint64_t)73);
	ASSERT_EQ(samples_find(&s, METRIC_AGENT_REFUSED_FILES, NULL)->number, (uint64_t)79);
	ASSERT_EQ(samples_find(&s, METRIC_AGENT_LOST_EVENTS, "row")->number, (uint64_t)47);
	ASSERT_EQ(samples_find(&s, METRIC_AGENT_LOST_EVENTS, "compat")->number, (uint64_t)0);
	ASSERT_EQ(samples_find(&s, METRIC_AGENT_MAP_CAPACITY, "rows")->number, (uint64_t)59);
	ASSERT_EQ(samples_find(&s, METRIC_AGENT_HOOK_ON, "T2+")->number, (uint64_t)0);
	ASSERT_STREQ(samples_find(&s, METRIC_AGENT_HOOK_ON, "T2")->labels[1], "enter_call");
	ASSERT(!samples_find(&s, METRIC_AGENT_CPU_SYSTEM, NULL));
	ASSERT_EQ(samples_find(&s, METRIC_AGENT_OLDER_CODE, "files")->number, (uint64_t)1);
	ASSERT_EQ(samples_find(&s, METRIC_AGENT_OLDER_CODE, "time")->number, (uint64_t)0);
}

TEST(what_goes_to_a_server_is_told_where_there_is_one)
{
	struct agent_facts facts = made_facts();
	_cleanup_(samples_clear) struct samples without = {}, with = {};

	facts.push = (struct push_status){ .max_bytes = 97,
					   .starts = 2,
					   .spool.dropped = { 83, 89 },
					   .sender = { .records = { 101, 103 },
						       .oldest_ns = 107,
						       .http_status = 503,
						       .answers = { 109, 113, 127 } } };
	facts.sampler.unreported = 3;
	ASSERT_OK(agent_facts_put(&facts, &without));
	ASSERT(!samples_find(&without, METRIC_AGENT_SPOOL_FINALS, NULL));
	facts.push.is_on = true;
	ASSERT_OK(agent_facts_put(&facts, &with));
	ASSERT_EQ(samples_find(&with, METRIC_AGENT_SPOOL_FINALS, NULL)->number, (uint64_t)103);
	ASSERT_EQ(samples_find(&with, METRIC_AGENT_SPOOL_CHECKPOINTS, NULL)->number, (uint64_t)101);
	ASSERT_EQ(samples_find(&with, METRIC_AGENT_SPOOL_FINALS_DROPPED, NULL)->number,
		  (uint64_t)92);
	ASSERT_EQ(samples_find(&with, METRIC_AGENT_SPOOL_OLDEST, NULL)->number, (uint64_t)107);
	ASSERT_EQ(samples_find(&with, METRIC_AGENT_SPOOL_HTTP_STATUS, NULL)->number, (uint64_t)503);
	ASSERT_EQ(samples_find(&with, METRIC_AGENT_SPOOL_REFUSED, NULL)->number, (uint64_t)127);
}

TEST(maps_of_one_name_are_one)
{
	struct agent_facts facts = {};
	char names[MAPS_MAX + 2][8];

	agent_facts_add_map(&facts, "lost", 3, 5);
	agent_facts_add_map(&facts, "rows", 7, 11);
	agent_facts_add_map(&facts, "lost", 13, 17);
	ASSERT_EQ(facts.map_count, (size_t)2);
	ASSERT_EQ(facts.maps[0].bytes, (uint64_t)16);
	ASSERT_EQ(facts.maps[0].capacity, (uint64_t)22);
	for (unsigned int i = 0; i < MAPS_MAX + 2; i++) {
		snprintf(names[i], sizeof(names[i]), "m%u", i);
		agent_facts_add_map(&facts, names[i], 1, 1);
	}
	ASSERT_EQ(facts.map_count, (size_t)MAPS_MAX);
}

TEST(without_a_meter_nothing_is_said_of_it)
{
	struct agent_facts facts = made_facts();
	_cleanup_(samples_clear) struct samples s = {};

	facts.has_meter = false;
	ASSERT_OK(agent_facts_put(&facts, &s));
	ASSERT(!samples_find(&s, METRIC_AGENT_LOST_EVENTS, NULL));
	ASSERT(!samples_find(&s, METRIC_AGENT_HOOK_ON, NULL));
	ASSERT(!samples_find(&s, METRIC_AGENT_OLDER_CODE, NULL));
	ASSERT(samples_find(&s, METRIC_AGENT_READINGS, NULL));
}

TEST(the_process_knows_itself)
{
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
			    empty = tree_open("empty");
	struct agent_facts facts = {};

	agent_facts_read(root_fd, NULL, NULL, &facts);
	ASSERT(facts.cpu_user_ns.is_known && facts.cpu_system_ns.is_known);
	ASSERT(facts.resident_bytes.is_known && facts.resident_bytes.number > 4096);
	ASSERT(facts.open_descriptors.is_known && facts.open_descriptors.number >= 4);
	ASSERT(!facts.has_meter);
	agent_facts_read(empty, NULL, NULL, &facts);
	ASSERT(!facts.resident_bytes.is_known && !facts.open_descriptors.is_known);
}
