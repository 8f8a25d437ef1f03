/* SPDX-License-Identifier: MIT */
/* Any bytes as what an agent before knew of energy: they are taken whole or refused in a line, what
 * was taken is written down alike, and a reading, the ledger and the pages go on from there. */
#include <errno.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "codec/ledger.h"
#include "fuzz.h"
#include "made_root.h"
#include "model/document.h"
#include "model/sample.h"
#include "model/snapshot.h"
#include "energy/node_energy.h"
#include "sources/machine.h"

#define BOOT "boot"

static struct node_energy *make(void)
{
	struct node_energy *e = NULL;

	CHECK(node_energy_new(machine_for_energy(made_root_fd()), POLICY_ALLOCATED, &e) == 0);
	return e;
}

static void format(const void *e, struct document *d)
{
	node_energy_format((struct node_energy *)e, d);
}

static void go_on(struct node_energy *e)
{
	struct energy_reading reading = { .sensor = { .source = "rapl",
						      .name = "package-0",
						      .level = ENERGY_COMPONENT,
						      .part = ENERGY_PACKAGE },
					  .total = { .has_raw = true, .raw_uj = 17 },
					  .boot_ns = 1000000007 };
	const struct energy_readings readings = { .items = &reading, .count = 1 };
	struct job facts = { .manager = (char *)"slurm", .id = (char *)"7", .uid = 1000 };
	struct snapshot_job job = { .job = &facts, .is_live = true };
	struct snapshot s = { .boot_ns = 1000000009, .jobs = &job, .job_count = 1 };
	_cleanup_(samples_clear) struct samples samples = {};
	_cleanup_free_ char *text = NULL;
	struct ledger ledger = {};
	size_t length;

	job.values[METRIC_CPU_USER] = job.values[METRIC_CPU_SYSTEM] = (struct value){ 23, true };
	CHECK(node_energy_take(e, &readings, &s) == 0);
	parts_clear(&job.parts);
	node_energy_want_ledger(e, true, 1);
	if (node_energy_get_ledger(e, UINT64_MAX, &ledger))
		node_energy_set_written(e, &ledger);
	ledger_clear(&ledger);
	CHECK(node_energy_put_samples(e, &samples) == 0);
	CHECK(document_format_line(format, e, &text, &length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct node_energy *first = make(), *second = make();
	_cleanup_free_ char *bytes = NULL, *again = NULL;
	struct error err = {};
	size_t length = 0, again_length = 0;
	int r = node_energy_parse_state(first, BOOT, (const char *)data, size, &err);

	CHECK(r == 0 || (r == -EINVAL && *err.text && !strchr(err.text, '\n')));
	if (r == 0) {
		r = node_energy_format_state(first, BOOT, &bytes, &length);
		CHECK(r == 0 || r == -ENODATA); /* of no sensor */
	}
	if (r == 0) {
		CHECK(node_energy_parse_state(second, BOOT, bytes, length, &err) == 0);
		CHECK(node_energy_format_state(second, BOOT, &again, &again_length) == 0);
		CHECK(length == again_length && memcmp(bytes, again, length) == 0);
	}
	if (r == 0 || r == -ENODATA)
		go_on(first);
	node_energy_free(first);
	node_energy_free(second);
	return 0;
}
