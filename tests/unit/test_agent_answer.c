/* SPDX-License-Identifier: MIT */
#include "codec/agent_answer.h"

#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "model/document.h"
#include "model/json_place.h"
#include "model/shape.h"
#include "made.h"
#include "test.h"

static char *text_of(const struct shape *shape, const void *what)
{
	struct made_text t = {};
	struct document *d = made_text_document(&t, DOCUMENT_ONE_LINE);

	document_begin_map(d);
	shape_format(shape, what, d);
	document_end_map(d);
	return made_text_end(&t);
}

static void parse(const struct shape *shape, const char *text, void *ret)
{
	_cleanup_(json_freep) json_t *root = NULL;
	struct error err = {};
	const struct place place = { .err = &err };

	ASSERT_OK(place_parse_map(text, strlen(text), &root, &err));
	ASSERT_OK(shape_parse(shape, &place, root, ret));
}

static struct client_agent made_agent(void)
{
	return (struct client_agent){ .is_whole = true,
				      .version = (char *)"7",
				      .readings = 1009,
				      .last_reading_ns = 1000003,
				      .jobs_live = 11,
				      .groups = 13,
				      .lost_events = 17 };
}

TEST(what_the_agent_says_is_what_its_client_has)
{
	_cleanup_(client_agent_clear) struct client_agent back = {};
	_cleanup_(strings_clear) struct strings missing = {};
	struct client_agent agent = made_agent();
	_cleanup_free_ char *text = NULL;

	ASSERT_OK(strings_add(&missing, "bytes by libaio"));
	agent.missing = missing;
	agent.push = (struct client_push){ .is_on = true,
					   .server = (char *)"https://s",
					   .finals_unsent = 19,
					   .refused = 23,
					   .oldest_ns = 7000000000 };
	text = text_of(&client_agent_shape, &agent);
	ASSERT_CONTAINS(text, "\"last_reading_seconds\":0.001000003,");
	ASSERT_CONTAINS(text, "\"push\":{\"server\":\"https://s\",\"finals_unsent\":19,");
	ASSERT_CONTAINS(text, "\"answered\":null,\"http_status\":null,\"taken\":0,");
	parse(&client_agent_shape, text, &back);
	ASSERT_STREQ(back.version, "7");
	ASSERT_EQ(back.readings + back.jobs_live + back.groups + back.lost_events,
		  UINT64_C(1009 + 11 + 13 + 17));
	ASSERT_EQ(back.last_reading_ns, UINT64_C(1000003));
	ASSERT_STREQ(back.missing.items[0], "bytes by libaio");
	ASSERT(back.push.is_on && !back.push.why_unsent && !back.push.answered_ns);
	ASSERT_STREQ(back.push.server, "https://s");
	ASSERT_EQ(back.push.finals_unsent + back.push.refused, UINT64_C(42));
	ASSERT_EQ(back.push.oldest_ns, UINT64_C(7000000000));
}

TEST(who_does_not_see_all_is_not_told_of_all)
{
	struct client_agent agent = made_agent();
	_cleanup_free_ char *whole = text_of(&client_agent_shape, &agent), *part = NULL;

	ASSERT_CONTAINS(whole, "\"lost_events\":17,\"push\":null,\"tiers\":[]");
	agent.is_whole = false;
	part = text_of(&client_agent_shape, &agent);
	ASSERT_STREQ(part, "{\"version\":\"7\",\"readings\":1009,\"failed_readings\":0,"
			   "\"last_reading_seconds\":0.001000003,\"jobs_live\":11,"
			   "\"jobs_ended\":0,\"tiers\":[],\"missing\":[],\"notes\":[]}\n");
}

TEST(a_run_is_known_by_its_group)
{
	_cleanup_(client_group_clear) struct client_group back = {};
	struct client_group run = { .manager = (char *)"run",
				    .id = (char *)"41",
				    .group_id = UINT64_C(18446744073709551557) };
	_cleanup_free_ char *text = text_of(&client_run_shape, &run), *without = NULL;

	ASSERT_STREQ(text, "{\"manager\":\"run\",\"id\":\"41\",\"path\":null,"
			   "\"group\":\"18446744073709551557\"}\n");
	parse(&client_run_shape, text, &back);
	ASSERT_EQ(back.group_id, run.group_id);
	run.group_id = 0;
	without = text_of(&client_run_shape, &run);
	ASSERT_LACKS(without, "group");
}
