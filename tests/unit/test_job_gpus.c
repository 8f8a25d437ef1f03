/* SPDX-License-Identifier: MIT */
#include "model/sections/job_gpus.h"

#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "made.h"
#include "model/record.h"
#include "model/rows.h"
#include "model/section.h"
#include "model/sections.h"
#include "report/record_rows.h"
#include "reported.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)
#define GIB (UINT64_C(1) << 30)

static struct job_gpus *of(struct record *r)
{
	return section_of(r, &gpu_section);
}

static struct job_gpu *get(struct job_gpus *g, const char *uuid)
{
	g->is_known = true;
	return job_gpus_get(g, uuid, strcmp(uuid, "MIG-1") == 0 ? "1/2" : "0", "H100");
}

static void add(struct job_gpus *g, const char *uuid, uint64_t held, uint64_t busy, uint64_t peak)
{
	job_gpu_add(get(g, uuid), METRIC_GPU_HELD, held * SECOND);
	job_gpu_add(get(g, uuid), METRIC_GPU_BUSY, busy * SECOND);
	job_gpu_add(get(g, uuid), METRIC_GPU_MEMORY_PEAK, peak * GIB);
}

TEST(counters_add_up_and_peaks_do_not)
{
	struct job_gpus g = {};

	add(&g, "GPU-1", 10, 3, 7);
	add(&g, "GPU-1", 10, 4, 5);
	add(&g, "MIG-1", 2, 1, 11);
	ASSERT_EQ(job_gpu_get(get(&g, "GPU-1"), METRIC_GPU_BUSY).number, 7 * SECOND);
	ASSERT_EQ(job_gpus_total(&g, METRIC_GPU_HELD).number, 22 * SECOND);
	ASSERT_EQ(job_gpus_total(&g, METRIC_GPU_MEMORY_PEAK).number, 11 * GIB);
	ASSERT(!job_gpus_total(&g, METRIC_GPU_ENERGY).is_known); /* absent is not 0 */
	job_gpus_clear(&g);
}

TEST(an_instance_has_a_card)
{
	struct job_gpu g = { .name = "7/2" };
	char card[GPU_NAME_SIZE];

	job_gpu_card(&g, card);
	ASSERT_STREQ(card, "7");
	ASSERT_STREQ(job_gpu_instance(&g), "2");
	strcpy(g.name, "3");
	ASSERT_STREQ(job_gpu_instance(&g), "");
}

TEST(a_record_comes_back_as_it_was)
{
	_cleanup_(record_freep) struct record *r = made_record(0), *back = NULL;
	_cleanup_free_ char *text = NULL, *csv = NULL;
	struct error err = {};

	add(of(r), "GPU-1", 10, 3, 7);
	add(of(r), "MIG-1", 2, 1, 11);
	text = made_json(r);
	back = made_again(text, &err);
	ASSERT(back);
	ASSERT_TEXT(made_json(back), text);
	ASSERT_EQ(of(back)->count, 2);
	ASSERT(!job_gpu_get(get(of(back), "GPU-1"), METRIC_GPU_ENERGY).is_known);
	csv = made_csv(r, ROWS_GPU);
	ASSERT(strstr(csv, "MIG-1"));
}

TEST(records_of_nodes_merge_by_uuid)
{
	struct job_gpus a = {}, b = {};

	add(&a, "GPU-1", 10, 3, 7);
	add(&b, "GPU-1", 5, 1, 9);
	add(&b, "GPU-2", 5, 1, 2);
	ASSERT_OK(section_add(&gpu_section, &a, &b));
	ASSERT_EQ(a.count, 2);
	ASSERT_EQ(job_gpu_get(get(&a, "GPU-1"), METRIC_GPU_HELD).number, 15 * SECOND);
	ASSERT_EQ(job_gpu_get(get(&a, "GPU-1"), METRIC_GPU_MEMORY_PEAK).number, 9 * GIB);
	ASSERT_OK(section_raise(&gpu_section, &b, &a)); /* nothing falls */
	ASSERT_EQ(job_gpu_get(get(&b, "GPU-1"), METRIC_GPU_HELD).number, 15 * SECOND);
	job_gpus_clear(&a);
	job_gpus_clear(&b);
}

TEST(a_report_has_a_line_and_a_table)
{
	_cleanup_(record_freep) struct record *r = made_record(0);
	struct rows *rows = rows_new();

	r->time.elapsed_ns = 20 * SECOND;
	add(of(r), "GPU-1", 20, 5, 7);
	job_gpu_add(get(of(r), "GPU-1"), METRIC_GPU_UNUSED, 2 * SECOND);
	job_gpu_add(get(of(r), "GPU-1"), METRIC_GPU_MEMORY_TOTAL, 80 * GIB);
	gpu_row(r, rows);
	gpus_rows(r, rows);
	ASSERT_TOLD(reported_rows(rows, ROWS_TEXT, 200),
		    "1 x H100, at most 7 GiB of 80 GiB, 10 % without a process", "25 %");
}
