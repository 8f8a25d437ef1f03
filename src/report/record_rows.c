/* SPDX-License-Identifier: MIT */
#include "report/record_rows.h"

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "report/mount_rows.h"
#include "model/record.h"
#include "report/report_compare.h"
#include "model/rows.h"
#include "model/sections/trace.h"

#define COMPARED_NS_MIN UINT64_C(1000000000) /* shorter runs are compared with nothing */

static bool is_comparable(const struct record *r)
{
	return !r->job.signal && r->time.elapsed_ns >= COMPARED_NS_MIN;
}

static void change_rows(const struct record *now, const struct record *last, struct rows *rows)
{
	_cleanup_free_ char *change = NULL;

	if (!last || !is_comparable(now) || !is_comparable(last))
		return;
	change = report_compare(last, now);
	if (change)
		rows_line(rows, ROWS_TEXT | ROWS_SCREEN, NULL, "Since the last run: %s.", change);
}

struct rows *record_rows(const struct record *now, const struct record *last,
			 const struct analysis *analysis)
{
	struct rows *rows = rows_new();

	rows_set_bound(rows, record_is_bound(now));
	head_rows(now, analysis, rows);
	rows_gap(rows);
	findings_rows(analysis, false, ROWS_FIRST, rows);
	rows_gap(rows);
	summary_rows(now, analysis, rows);
	oom_kills_rows(&now->oom_list, rows);
	rows_gap(rows);
	screen_files_rows(now, rows);
	rows_gap(rows);
	timeline_rows(now, analysis->patterns, rows);
	rows_gap(rows);
	core_time_rows(now, analysis, rows);
	rows_part(rows, "Processors and memory");
	cpu_time_rows(now, rows);
	thermal_rows(&now->thermal, hardware_rows(now, rows), rows);
	memory_rows(now, rows);
	energy_rows(now, rows);
	files_rows(now, rows);
	rows_gap(rows);
	hot_files_rows(now, rows);
	rows_gap(rows);
	block_rows(&now->reading.block, rows);
	network_rows(&now->reading.network, rows);
	ports_rows(now->ports, rows);
	rows_gap(rows);
	gpus_rows(now, rows);
	rows_gap(rows);
	syscalls_rows(&now->syscalls, rows);
	rows_gap(rows);
	trace_rows(traced_calls_of(now), rows);
	rows_gap(rows);
	rows_part(rows, "What stands out");
	if (analysis->insights.count)
		findings_rows(analysis, true, ROWS_HTML, rows);
	steps_rows(&now->steps, rows);
	coverage_rows(now, analysis, rows);
	rows_gap(rows);
	change_rows(now, last, rows);
	screen_end_rows(now, rows);
	return rows;
}
