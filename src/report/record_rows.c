/* SPDX-License-Identifier: MIT */
#include "report/record_rows.h"

#include "analysis/analysis.h"
#include "basic/cleanup.h"
#include "report/mount_rows.h"
#include "model/record.h"
#include "report/report_compare.h"
#include "model/rows.h"

static void change_rows(const struct record *now, const struct record *last, struct rows *rows)
{
	_cleanup_free_ char *change = last ? report_compare(last, now) : NULL;

	if (change)
		rows_line(rows, ROWS_TEXT, "since the last run of this command:", "%s", change);
}

struct rows *record_rows(const struct record *now, const struct record *last,
			 const struct analysis *analysis)
{
	struct rows *rows = rows_new();

	rows_set_bound(rows, record_is_bound(now));
	head_rows(now, analysis, rows);
	findings_rows(analysis, false, ROWS_ALL, rows);
	rows_gap(rows);
	core_time_rows(now, analysis, rows);
	rows_part(rows, "Processors and memory");
	cores_rows(now, analysis, rows);
	thermal_rows(&now->thermal, hardware_rows(now, rows), rows);
	waits_rows(now, rows);
	memory_rows(now, rows);
	oom_kills_rows(&now->oom_list, rows);
	timeline_rows(now, analysis->patterns, rows);
	files_rows(now, rows);
	hot_files_rows(now, rows);
	block_rows(&now->reading.block, rows);
	network_rows(&now->reading.network, rows);
	ports_rows(now->ports, rows);
	syscalls_rows(&now->syscalls, rows);
	rows_part(rows, "What stands out");
	findings_rows(analysis, true, ROWS_HTML, rows);
	steps_rows(&now->steps, rows);
	coverage_rows(now, analysis, rows);
	change_rows(now, last, rows);
	return rows;
}
