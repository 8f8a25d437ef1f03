/* SPDX-License-Identifier: MIT */
/* Whatever stands in a line of a recording, or comes from an agent: it is taken whole, or told in a line. */
#include "error.h"
#include "fuzz.h"
#include "tick.h"

static void check(const struct tick *tick)
{
	CHECK(tick->boot_ns && tick->jobs.count <= TICK_JOBS_MAX);
	for (size_t i = 0; i < tick->jobs.count; i++)
		CHECK(tick->jobs.items[i]->job.manager && tick->jobs.items[i]->job.id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tick tick = {};
	struct error err = {};

	if (tick_parse((const char *)data, size, &tick, &err) < 0) {
		CHECK(*err.text && !tick.jobs.count);
		return 0;
	}
	check(&tick);
	tick_clear(&tick);
	return 0;
}
