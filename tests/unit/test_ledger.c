/* SPDX-License-Identifier: MIT */
#include "codec/ledger.h"

#include "basic/cleanup.h"
#include "model/document.h"
#include "model/energy_sensor.h"
#include "model/json_place.h"
#include "model/shape.h"
#include "test.h"

#define QUARTER_NS UINT64_C(900000000000)

TEST(a_line_is_as_the_server_takes_it)
{
	const struct ledger_entry entries[] = {
		{ .is_job = true,
		  .owner = ledger_owners[LEDGER_JOB],
		  .manager = "slurm",
		  .job = "4711",
		  .uid = 1000,
		  .job_start_ns = 1764000000 * UINT64_C(1000000000),
		  .level = energy_level_name(ENERGY_COMPONENT),
		  .source = "rapl",
		  .quality = energy_quality_name(ENERGY_ATTRIBUTED),
		  .microjoules = 41000000007 },
		{ .is_job = true,
		  .owner = ledger_owners[LEDGER_JOB],
		  .manager = "slurm",
		  .job = "4712",
		  .uid = -1,
		  .level = energy_level_name(ENERGY_COMPONENT),
		  .source = "rapl",
		  .quality = energy_quality_name(ENERGY_ATTRIBUTED),
		  .microjoules = 1 },
		{ .uid = -1,
		  .owner = ledger_owners[LEDGER_SYSTEM],
		  .level = energy_level_name(ENERGY_COMPONENT),
		  .source = "rapl",
		  .quality = energy_quality_name(ENERGY_ATTRIBUTED),
		  .microjoules = 700000001 },
		{ .uid = -1,
		  .owner = ledger_owners[LEDGER_IDLE],
		  .level = energy_level_name(ENERGY_COMPONENT),
		  .source = "rapl",
		  .quality = energy_quality_name(ENERGY_ATTRIBUTED),
		  .microjoules = 12000000000 },
		{ .uid = -1,
		  .owner = ledger_owners[LEDGER_UNATTRIBUTED],
		  .level = energy_level_name(ENERGY_COMPONENT),
		  .source = "rapl",
		  .quality = energy_quality_name(ENERGY_GAP),
		  .microjoules = 3000000 },
	};
	struct ledger l = {
		.cluster = "cedar",
		.node = "node17",
		.boot_id = "f00ba400-0000-4000-8000-000000000017",
		.start_ns = 1764000000 * UINT64_C(1000000000),
		.end_ns = 1764000000 * UINT64_C(1000000000) + QUARTER_NS,
		.sequence = 23,
	};
	_cleanup_(json_freep) json_t *root = NULL;
	_cleanup_free_ char *line = NULL;
	struct ledger back = {};
	struct place place = {};
	size_t length;

	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++)
		ASSERT(shape_append(&ledger_shape, &l, &entries[i]));
	ASSERT_OK(document_format_line(ledger_format, &l, &line, &length));
	ASSERT_GOLDEN(line, "energy/ledger-line.json");
	root = json_loads(line, 0, NULL);
	ASSERT_OK(shape_parse(&ledger_shape, &place, root, &back));
	ASSERT_EQ(back.count, l.count);
	ASSERT_EQ(back.sequence, l.sequence);
	for (size_t i = 0; i < l.count; i++) {
		ASSERT_STREQ(back.entries[i].owner, l.entries[i].owner);
		ASSERT_STREQ(back.entries[i].quality, l.entries[i].quality);
		ASSERT_EQ(back.entries[i].is_job, l.entries[i].is_job);
		ASSERT_EQ(back.entries[i].uid, l.entries[i].uid);
		ASSERT_EQ(back.entries[i].microjoules, l.entries[i].microjoules);
	}
	ledger_clear(&back);
	ledger_clear(&l);
}
