/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "basic/humanize.h"
#include "basic/macro.h"
#include "model/record.h"
#include "model/rows.h"
#include "model/sections/job_gpus.h"
#include "report/record_rows.h"

static double share_of(struct value part, struct value whole)
{
	return whole.number ? (double)part.number / (double)whole.number : 0;
}

void gpu_row(const struct record *r, struct rows *rows)
{
	const struct job_gpus *g = job_gpus_of(r);
	const struct value held = job_gpus_total(g, METRIC_GPU_HELD),
			   busy = job_gpus_total(g, METRIC_GPU_BUSY),
			   unused = job_gpus_total(g, METRIC_GPU_UNUSED),
			   peak = job_gpus_total(g, METRIC_GPU_MEMORY_PEAK),
			   total = job_gpus_total(g, METRIC_GPU_MEMORY_TOTAL);

	if (!g->is_known || !g->count || !held.number)
		return;
	rows_line(rows, ROWS_FIRST, "GPUs", "%zu x %s", g->count, g->items[0].model);
	rows_share(rows, busy.is_known, share_of(busy, held));
	if (peak.is_known && total.is_known)
		rows_say(rows, ", ", "at most %s of %s", humanize_bytes(peak.number).text,
			 humanize_bytes(total.number).text);
	if (unused.number)
		rows_say(rows, ", ", "%s without a process",
			 humanize_percent(share_of(unused, held)).text);
}

static void add_seconds(const struct job_gpu *g, enum metric_id id, struct rows_table *table)
{
	const struct value v = job_gpu_get(g, id), held = job_gpu_get(g, METRIC_GPU_HELD);

	rows_cell(table, cell_if(v.is_known && held.number, cell_share(share_of(v, held))));
}

static void add_gpu(const struct job_gpu *g, struct rows_table *table)
{
	const struct value held = job_gpu_get(g, METRIC_GPU_HELD),
			   peak = job_gpu_get(g, METRIC_GPU_MEMORY_PEAK),
			   total = job_gpu_get(g, METRIC_GPU_MEMORY_TOTAL),
			   warmest = job_gpu_get(g, METRIC_GPU_TEMPERATURE_PEAK),
			   energy = job_gpu_get(g, METRIC_GPU_ENERGY),
			   errors = job_gpu_get(g, METRIC_GPU_ECC_ERRORS),
			   xids = job_gpu_get(g, METRIC_GPU_XID_ERRORS);

	rows_row(table, ROWS_ALL);
	rows_words(table, "%s %s", g->name, g->model);
	rows_cell(table, cell_if(held.is_known, cell_number(ROWS_TIME, held.number)));
	add_seconds(g, METRIC_GPU_BUSY, table);
	add_seconds(g, METRIC_GPU_MEMORY_BUSY, table);
	rows_cell(table, cell_if(peak.is_known, cell_number(ROWS_SIZE, peak.number)));
	rows_cell(table, cell_if(total.is_known, cell_number(ROWS_SIZE, total.number)));
	if (energy.is_known)
		rows_words(table, "%s", humanize_energy(energy.number).text);
	else
		rows_cell(table, cell_words(NULL));
	add_seconds(g, METRIC_GPU_THROTTLED, table);
	if (warmest.is_known)
		rows_words(table, "%.0f °C", (double)warmest.number / 1000);
	else
		rows_cell(table, cell_words(NULL));
	rows_cell(table, cell_if(errors.is_known || xids.is_known,
				 cell_number(ROWS_COUNT, (uint64_t)errors.number + xids.number)));
}

void gpus_rows(const struct record *r, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "GPU", .least = 12 },
		{ "held" },
		{ "busy" },
		{ "memory busy", .rank = 4 },
		{ "memory peak" },
		{ "of" },
		{ "energy" },
		{ "throttled", .rank = 2 },
		{ "warmest", .rank = 3 },
		{ "errors", .rank = 1 },
	};
	const struct job_gpus *g = job_gpus_of(r);
	struct rows_table *table;

	if (!g->is_known || !g->count)
		return;
	rows_part(rows, "GPUs");
	table = rows_table(rows, ROWS_ALL, "gpus", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < g->count; i++)
		add_gpu(&g->items[i], table);
	if (r->time.elapsed_ns)
		rows_remark(table, ROWS_ALL, "%.1f GPUs on average; shares are of the time held",
			    (double)job_gpus_total(g, METRIC_GPU_HELD).number /
				    (double)r->time.elapsed_ns);
}
