/* SPDX-License-Identifier: MIT */
#include "codec/ledger.h"

#include "basic/cleanup.h"
#include "model/document.h"
#include "test.h"

#define QUARTER_NS UINT64_C(900000000000)

static void format(const void *what, struct document *d)
{
	ledger_format(what, d);
}

TEST(a_line_is_as_the_server_takes_it)
{
	const struct ledger_entry entries[] = {
		{ .owner = LEDGER_JOB,
		  .manager = "slurm",
		  .job = "4711",
		  .uid = 1000,
		  .job_start_ns = 1764000000 * UINT64_C(1000000000),
		  .level = ENERGY_COMPONENT,
		  .source = "rapl",
		  .quality = ENERGY_ATTRIBUTED,
		  .uj = 41000000007 },
		{ .owner = LEDGER_JOB,
		  .manager = "slurm",
		  .job = "4712",
		  .uid = -1,
		  .level = ENERGY_COMPONENT,
		  .source = "rapl",
		  .quality = ENERGY_ATTRIBUTED,
		  .uj = 1 },
		{ .owner = LEDGER_SYSTEM,
		  .level = ENERGY_COMPONENT,
		  .source = "rapl",
		  .quality = ENERGY_ATTRIBUTED,
		  .uj = 700000001 },
		{ .owner = LEDGER_IDLE,
		  .level = ENERGY_COMPONENT,
		  .source = "rapl",
		  .quality = ENERGY_ATTRIBUTED,
		  .uj = 12000000000 },
		{ .owner = LEDGER_UNATTRIBUTED,
		  .level = ENERGY_COMPONENT,
		  .source = "rapl",
		  .quality = ENERGY_GAP,
		  .uj = 3000000 },
	};
	struct ledger l = {
		.cluster = "cedar",
		.node = "node17",
		.boot_id = "f00ba400-0000-4000-8000-000000000017",
		.start_ns = 1764000000 * UINT64_C(1000000000),
		.end_ns = 1764000000 * UINT64_C(1000000000) + QUARTER_NS,
		.sequence = 23,
	};
	_cleanup_free_ char *line = NULL;
	size_t length;

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
		ASSERT_OK(ledger_add(&l, &entries[i]));
	ASSERT_OK(document_format_line(format, &l, &line, &length));
	ASSERT_GOLDEN(line, "energy/ledger-line.json");
	ledger_clear(&l);
}
