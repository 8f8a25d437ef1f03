/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "analysis/billing.h"
#include "basic/cleanup.h"
#include "model/document.h"
#include "analysis/efficiency.h"
#include "model/record.h"
#include "made.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)

/* 4 cores for 100 s: 144 s on a CPU, 144 s blocked on files, 48 s waited for a CPU, 64 s idle. */
static struct record *made(void)
{
	struct record *r = record_new();

	r->time.elapsed_ns = 100 * SECOND;
	reading_set(&r->reading, METRIC_CPU_ALLOCATED, 4000);
	reading_set(&r->reading, METRIC_CPU_USER, 144 * SECOND);
	reading_set(&r->reading, METRIC_CPU_SYSTEM, 0);
	reading_set(&r->reading, METRIC_CPU_RUN_QUEUE, 48 * SECOND);
	for (size_t c = 0; c < CAUSE_COUNT; c++)
		reading_set(&r->reading, cause_metric((enum cause)c), 0);
	reading_set(&r->reading, METRIC_BLOCKED_FILE_READ, 144 * SECOND);
	reading_set(&r->reading, METRIC_MEMORY_PEAK, UINT64_C(4) << 30);
	reading_set(&r->reading, METRIC_MEMORY_LIMIT, UINT64_C(16) << 30);
	r->cores.count = (struct value){ 3, true };
	r->cores.balance = (struct value){ 8000, true };
	return r;
}

static bool is_near(struct amount a, double b)
{
	return a.is_known && fabs(a.number - b) < 1e-9;
}

TEST(used_is_set_against_allocated)
{
	_cleanup_(record_freep) struct record *r = made();
	struct efficiency e = efficiency_of(r, NULL);

	ASSERT(is_near(e.uses[RESOURCE_CORES].used, 1.44));
	ASSERT(is_near(e.uses[RESOURCE_CORES].allocated, 4));
	ASSERT(is_near(e.uses[RESOURCE_CORES].share, 0.36));
	ASSERT(is_near(e.uses[RESOURCE_MEMORY].share, 0.25));
	ASSERT(is_near(e.score, 36));
	ASSERT(is_near(e.coverage, 1));
	ASSERT_EQ((uint64_t)e.missing_count, (uint64_t)0);
}

TEST(the_chain_is_the_share_of_the_cores)
{
	_cleanup_(record_freep) struct record *r = made();
	struct efficiency e = efficiency_of(r, NULL);
	double product = 1;

	ASSERT(is_near(e.chain[CHAIN_USED], 0.75));
	ASSERT(is_near(e.chain[CHAIN_BALANCE], 0.8));
	ASSERT(is_near(e.chain[CHAIN_NOT_BLOCKED], 192.0 / 336));
	ASSERT(is_near(e.chain[CHAIN_NOT_WAITING], 0.75));
	for (size_t i = 0; i < CHAIN_COUNT; i++)
		product *= e.chain[i].number;
	ASSERT(fabs(product - 0.36) < 1e-9);
}

TEST(what_is_not_known_is_missing_and_never_zero)
{
	_cleanup_(record_freep) struct record *r = made();
	struct efficiency e;

	r->reading.values[METRIC_MEMORY_LIMIT].is_known = false;
	r->reading.values[METRIC_BLOCKED_SYNC].is_known = false;
	r->cores.count.is_known = false;
	e = efficiency_of(r, NULL);
	ASSERT(!e.uses[RESOURCE_MEMORY].share.is_known);
	ASSERT(!e.chain[CHAIN_NOT_BLOCKED].is_known && !e.chain[CHAIN_OTHER].is_known);
	ASSERT(is_near(e.score, 36));
	ASSERT(is_near(e.coverage, 0.4));
	ASSERT_STREQ(e.missing[0], "memory");
	r->reading.values[METRIC_CPU_ALLOCATED].is_known = false;
	e = efficiency_of(r, NULL);
	ASSERT(!e.score.is_known);
	ASSERT(is_near(e.uses[RESOURCE_CORES].used, 1.44));
}

TEST(of_merged_records_memory_is_not_set_against_the_limits)
{
	_cleanup_(record_freep) struct record *r = made();

	r->merged_records = 2;
	ASSERT(!efficiency_of(r, NULL).uses[RESOURCE_MEMORY].share.is_known);
}

TEST(more_than_all_is_a_hundred)
{
	_cleanup_(record_freep) struct record *r = made();

	reading_set(&r->reading, METRIC_CPU_USER, 401 * SECOND);
	ASSERT(is_near(efficiency_of(r, NULL).score, 100));
}

static char *written(const struct record *r, const struct billing *billing)
{
	struct efficiency e = efficiency_of(r, billing);
	struct made_text t = {};

	efficiency_format(&e, made_text_document(&t, DOCUMENT_ONE_LINE));
	return made_text_end(&t);
}

TEST(a_document_says_null_for_the_unknown)
{
	_cleanup_(record_freep) struct record *r = made(), *nothing = record_new();
	_cleanup_free_ char *of_nothing = written(nothing, NULL);

	ASSERT_TOLD(written(r, NULL),
		    "\"formula\":2,\"score\":36,\"billing\":null,\"coverage\":1,"
		    "\"missing\":[]",
		    "\"memory\":{\"used_bytes\":4294967296,\"allocated_bytes\":"
		    "17179869184,\"share\":0.25}",
		    "\"file_read_seconds\":144", "\"run_queue_seconds\":48", "\"idle_seconds\":64");
	ASSERT_CONTAINS(of_nothing, "\"score\":null,\"billing\":null,\"coverage\":0");
	ASSERT_CONTAINS(of_nothing, "\"idle_seconds\":null");
	ASSERT_LACKS(of_nothing, "\"score\":0");
}

/* ---- a site's weights ---- */

static struct billing weights(const char *text)
{
	struct billing b = { .partition = strdup("gpu") };

	ASSERT_OK(billing_parse(text, &b, NULL));
	return b;
}

TEST(the_score_is_what_was_used_of_the_bill)
{
	_cleanup_(billing_clear) struct billing both = weights("CPU=1.0,Mem=0.25G"),
						mib = weights("CPU=2,Mem=0.5"),
						memory = weights("Mem=1G"),
						cores = weights("CPU=7");
	_cleanup_(record_freep) struct record *r = made();
	struct efficiency e = efficiency_of(r, &both);

	ASSERT(is_near(e.score, 30.5)); /* 4 x 1 of cores, 16 x 0.25 of memory: (4 x .36 + 4 x .25)
					   / 8 */
	ASSERT(is_near(e.parts[RESOURCE_CORES], 0.5) && is_near(e.parts[RESOURCE_MEMORY], 0.5));
	e = efficiency_of(r, &mib); /* 8 and 8192 */
	ASSERT(is_near(e.score, 100 * (8 * 0.36 + 8192 * 0.25) / 8200));
	ASSERT(is_near(efficiency_of(r, &memory).score, 25));
	ASSERT(is_near(efficiency_of(r, &cores).score, 36));
	ASSERT(!efficiency_of(r, &cores).parts[RESOURCE_MEMORY].is_known);
}

TEST(what_is_not_known_is_not_on_the_bill)
{
	_cleanup_(billing_clear) struct billing both = weights("CPU=1.0,Mem=0.25G"),
						memory = weights("Mem=1G");
	_cleanup_(record_freep) struct record *r = made();

	r->reading.values[METRIC_MEMORY_LIMIT].is_known = false;
	ASSERT(is_near(efficiency_of(r, &both).score, 36));
	ASSERT(is_near(efficiency_of(r, &both).parts[RESOURCE_CORES], 1));
	ASSERT(!efficiency_of(r, &memory).score.is_known);
	r->reading.values[METRIC_CPU_ALLOCATED].is_known = false;
	ASSERT(!efficiency_of(r, &both).score.is_known);
}

TEST(the_document_says_what_the_score_is_weighted_by)
{
	_cleanup_(billing_clear) struct billing both = weights("CPU=1.0,Mem=0.25G,GRES/gpu=2");
	_cleanup_(record_freep) struct record *r = made();

	ASSERT_TOLD(written(r, &both),
		    "\"score\":30.5,\"billing\":{\"weights\":\"CPU=1.0,Mem=0.25G,GRES/gpu=2\","
		    "\"partition\":\"gpu\",\"parts\":{\"cores\":0.5,\"memory\":0.5},"
		    "\"left_out\":[\"GRES/gpu\"]}");
}
