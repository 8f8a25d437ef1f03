/* SPDX-License-Identifier: MIT */
/* Whatever stands in a line of a recording, or comes from an agent: it is taken whole, or told in a line. */
#include <string.h>

#include "error.h"
#include "fuzz.h"
#include "tick.h"
#include "tick_delta.h"

static void check(const struct tick *tick)
{
	CHECK(tick->boot_ns && tick->jobs.count <= TICK_JOBS_MAX);
	for (size_t i = 0; i < tick->jobs.count; i++)
		CHECK(tick->jobs.items[i]->job.manager && tick->jobs.items[i]->job.id);
}

/* A line, and one that goes on from it. */
static void try_deltas(const char *text, size_t size)
{
	const char *end = memchr(text, '\n', size);
	size_t first = end ? (size_t)(end - text) : size;
	struct tick before = {}, now = {};
	struct error err = {};

	if (tick_delta_parse(text, first, NULL, &before, &err) < 0) {
		CHECK(*err.text && !before.jobs.count);
		return;
	}
	check(&before);
	if (tick_delta_parse(text + first, size - first, &before, &now, &err) == 0) {
		tick_clear(&before); /* what both had lives on */
		check(&now);
	}
	tick_clear(&before);
	tick_clear(&now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tick tick = {};
	struct error err = {};

	try_deltas((const char *)data, size);
	if (tick_parse((const char *)data, size, &tick, &err) < 0) {
		CHECK(*err.text && !tick.jobs.count);
		return 0;
	}
	check(&tick);
	tick_clear(&tick);
	return 0;
}
