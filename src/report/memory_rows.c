/* SPDX-License-Identifier: MIT */
#include <time.h>

#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "model/record.h"
#include "report/record_rows.h"
#include "model/rows.h"

#define OOM_LIST_SHOWN 4

/* ---- who was killed ---- */

void oom_kills_rows(const struct oom_list *oom_list, struct rows *rows)
{
	if (!oom_list->count)
		return;
	rows_alert(rows, ROWS_FIRST, "Out of memory", "%s", "");
	for (size_t i = 0; i < MIN(oom_list->count, (size_t)OOM_LIST_SHOWN); i++) {
		const struct oom_kill *v = &oom_list->items[i];

		time_t seconds = (time_t)(v->time_ns / 1000000000);
		char clock[16] = "";
		struct tm tm;

		rows_say(rows, rows_has_said(rows) ? ", " : "", "%s (pid %d)",
			 *v->command ? v->command : "-", v->pid);
		if (v->rss.is_known)
			rows_say(rows, " ", "with %s", humanize_bytes(v->rss.number).text);
		if (v->time_ns && localtime_r(&seconds, &tm) &&
		    strftime(clock, sizeof(clock), "%H:%M:%S", &tm))
			rows_say(rows, " ", "at %s", clock);
	}
	if (oom_list->count > OOM_LIST_SHOWN)
		rows_say(rows, " ", "and %zu more", oom_list->count - OOM_LIST_SHOWN);
}

/* ---- what was used ---- */

void memory_rows(const struct record *r, struct rows *rows)
{
	const struct value *peak = record_value(r, METRIC_MEMORY_PEAK);
	const struct value *process = record_value(r, METRIC_MEMORY_PROCESS_PEAK);
	const struct value *minor = record_value(r, METRIC_MEMORY_MINOR_FAULTS);
	const struct value *major = record_value(r, METRIC_MEMORY_MAJOR_FAULTS);
	static const struct {
		enum metric_id id;
		const char *name;
	} parts[] = {
		{ METRIC_MEMORY_ANON_PEAK, "programs" },
		{ METRIC_MEMORY_FILE_PEAK, "page cache" },
		{ METRIC_MEMORY_SHMEM_PEAK, "shared memory" },
		{ METRIC_MEMORY_KERNEL_PEAK, "kernel" },
	};
	bool is_any = false;

	rows_begin(rows, ROWS_FULL, "memory");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const struct value *value = record_value(r, parts[i].id);

		if (!value->is_known || !value->number)
			continue;
		rows_say(rows, ", ", "%s %s", parts[i].name, humanize_bytes(value->number).text);
		is_any = true;
	}
	if (is_any)
		rows_say(rows, " ", "(the peak of each)");
	/* Pages that others brought in are not the group's, but a process that uses them shows them
	 * as its own: then people find a larger number elsewhere, and want to know why. */
	if (peak->is_known && process->is_known && process->number > peak->number)
		rows_line(rows, ROWS_FULL, "of it",
			  "%s charged to the job; the largest process shows %s, with pages that it "
			  "shares with others",
			  humanize_bytes(peak->number).text, humanize_bytes(process->number).text);
	rows_line(rows, ROWS_FULL, "page faults", "%s minor, %s major",
		  minor->is_known ? humanize_count(minor->number).text : "-",
		  major->is_known ? humanize_count(major->number).text : "-");
}

/* ---- steps ---- */

#define STEPS_SHOWN 64
#define STEPS_LISTED 8 /* in short */

static struct rows_cell cell_value(const struct step *step, enum metric_id id)
{
	const struct value *value = &step->values[id];
	enum metric_unit unit = metric_get(id)->unit;

	return cell_if(value->is_known, cell_number(unit == UNIT_SECONDS ? ROWS_TIME
						    : unit == UNIT_BYTES ? ROWS_SIZE
									 : ROWS_COUNT,
						    value->number));
}

static struct rows_cell cell_network(const struct step *step, enum metric_id id)
{
	bool is_known = network_knows(&step->network, id);

	return cell_if(is_known,
		       cell_number(ROWS_SIZE, is_known ? network_total(&step->network, id) : 0));
}

static void add_step(const struct step *step, unsigned int forms, struct rows_table *table)
{
	struct rows_cell user = cell_value(step, METRIC_CPU_USER),
			 system = cell_value(step, METRIC_CPU_SYSTEM);
	bool has_time = step->start_ns && step->end_ns > step->start_ns;

	rows_row(table, forms);
	rows_cell(table, cell_words(step->id));
	rows_cell(table, cell_if(has_time, cell_number(ROWS_TIME, step->end_ns - step->start_ns)));
	rows_cell(table, cell_if(user.is_known && system.is_known,
				 cell_number(ROWS_TIME, user.number + system.number)));
	rows_cell(table, user);
	rows_cell(table, system);
	rows_cell(table, cell_value(step, METRIC_MEMORY_PEAK));
	rows_cell(table, cell_network(step, METRIC_NETWORK_SENT_BYTES));
	rows_cell(table, cell_network(step, METRIC_NETWORK_RECEIVED_BYTES));
	rows_cell(table, cell_value(step, METRIC_TASKS_ENDED));
}

void steps_rows(const struct steps *steps, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "step" },
		{ "elapsed" },
		{ "CPU time", .forms = ROWS_MARKDOWN },
		{ "CPU, user", .forms = ROWS_HTML },
		{ "CPU, kernel", .forms = ROWS_HTML },
		{ "memory", .under = "memory, peak" },
		{ "sent" },
		{ "received" },
		{ "threads ended", .forms = ROWS_HTML },
	};
	struct rows_table *table;

	rows_part(rows, "Steps");
	table = rows_table(rows, ROWS_LONG, "steps", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < MIN(steps->count, (size_t)STEPS_SHOWN); i++)
		add_step(&steps->items[i], i < STEPS_LISTED ? ROWS_LONG : ROWS_HTML, table);
	if (steps->count > STEPS_LISTED)
		rows_remark(table, ROWS_MARKDOWN, "and %zu more", steps->count - STEPS_LISTED);
	if (steps->count > STEPS_SHOWN)
		rows_remark(table, ROWS_HTML, "and %zu more", steps->count - STEPS_SHOWN);
}
