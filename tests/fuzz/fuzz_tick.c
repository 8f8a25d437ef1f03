/* SPDX-License-Identifier: MIT */
/* Whatever stands in a line of a recording, or comes from an agent: it is taken whole, or told in a
 * line. */
#include <string.h>

#include "basic/error.h"
#include "fuzz.h"
#include "codec/wire_snapshot.h"

static int try(const char *text, size_t size, const struct tick *before, struct tick *ret)
{
	struct error err = {};
	int r = wire_snapshot_parse(text, size, before, ret, &err);

	CHECK(r == 0 ? ret->boot_ns && ret->jobs.count <= WIRE_SNAPSHOT_JOBS_MAX
		     : *err.text && !ret->jobs.count);
	for (size_t i = 0; i < ret->jobs.count; i++)
		CHECK(ret->jobs.items[i]->job.manager && ret->jobs.items[i]->job.id);
	return r;
}

/* A line, and one that goes on from it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *end = size ? memchr(text, '\n', size) : NULL;
	size_t first = end ? (size_t)(end - text) : size;
	struct tick before = {}, now = {};

	if (try(text, first, NULL, &before) == 0) {
		(void)try(text + first, size - first, &before, &now);
		wire_snapshot_clear(&before); /* what both had lives on */
	}
	wire_snapshot_clear(&now);
	return 0;
}
