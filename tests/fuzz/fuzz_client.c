/* SPDX-License-Identifier: MIT */
/* Whatever an agent may answer: it is taken whole, or told in a line. */
#include <string.h>

#include "basic/cleanup.h"
#include "client/client_json.h"
#include "basic/error.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(client_jobs_clear) struct client_jobs jobs = {};
	_cleanup_(client_group_clear) struct client_group group = {};
	_cleanup_(client_agent_clear) struct client_agent agent = {};
	const char *text = (const char *)data;
	_cleanup_free_ char *why = client_parse_error(text, size);
	struct error err = {};

	CHECK(!why || strlen(why) <= size * 3 + 64);

	if (client_parse_jobs(text, size, &jobs, &err) == 0) {
		for (size_t i = 0; i < jobs.count; i++)
			CHECK(jobs.items[i].manager && jobs.items[i].id && jobs.items[i].uid >= -1);
	} else {
		CHECK(*err.text && !jobs.count);
	}
	err = (struct error){};
	if (client_parse_group(text, size, &group, &err) == 0)
		CHECK(group.manager && group.id);
	else
		CHECK(*err.text && !group.manager);
	err = (struct error){};
	if (client_parse_agent(text, size, &agent, &err) == 0)
		CHECK(agent.version);
	else
		CHECK(*err.text && !agent.version);
	return 0;
}
