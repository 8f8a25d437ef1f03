/* SPDX-License-Identifier: MIT */
/* Any text as the state of a job: it is taken whole or not at all, and what was taken is written
 * down alike. */
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "fuzz.h"
#include "jobs/registry.h"

static struct registry *make(void)
{
	const struct registry_options options = { .boot_id = "boot-a",
						  .started_boot_ns = 1,
						  .started_real_ns = 2 };

	return registry_new(&options);
}

static char *format(struct registry *r)
{
	struct registry_job *j = registry_next(r, NULL);
	char *text = NULL;

	CHECK(j && !registry_next(r, j));
	CHECK(registry_format_job(j, &text) == 0);
	return text;
}

static void check_snapshot(struct registry *r)
{
	_cleanup_(snapshot_unrefp) struct snapshot *s = NULL;
	_cleanup_(reading_clear) struct reading reading = {};

	CHECK(registry_snapshot(r, 1000, 2000, &s) == 0 && s->job_count == 1);
	CHECK(snapshot_expand(s, &s->jobs[0], &reading) == 0);
	CHECK(registry_add_histograms(registry_next(r, NULL), &reading) == 0);
	for (size_t i = 0; i < s->jobs[0].row_count; i++)
		CHECK(s->jobs[0].rows[i].mount < s->mount_count);
}

static void check_folded(struct registry *r)
{
	_cleanup_free_ uint64_t *cgroups = NULL;
	size_t count = 0;

	CHECK(registry_folded(r, &cgroups, &count) == 0);
	for (size_t i = 1; i < count; i++)
		CHECK(cgroups[i - 1] < cgroups[i]);
	CHECK(registry_forget(r, cgroups, count) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(registry_freep) struct registry *first = make(), *second = make();
	_cleanup_free_ char *text = NULL, *again = NULL;
	struct error err = {};

	if (registry_parse_job(first, (const char *)data, size, &err) < 0) {
		CHECK(*err.text && !registry_next(first, NULL));
		return 0;
	}
	text = format(first);
	CHECK(registry_parse_job(second, text, strlen(text), &err) == 0);
	again = format(second);
	CHECK(strcmp(text, again) == 0);
	check_snapshot(first);
	check_folded(first);
	CHECK(registry_learn(first, NULL, 0, 1000, 2000) == 0);
	return 0;
}
