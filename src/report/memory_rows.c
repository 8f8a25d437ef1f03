/* SPDX-License-Identifier: MIT */
#include <time.h>

#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "model/record.h"
#include "report/record_rows.h"
#include "model/rows.h"

#define OOM_LIST_SHOWN 4 /* on a terminal */

static const struct value *value_of(const struct record *r, enum metric_id id)
{
	return &r->reading.values[id];
}

/* ---- who was killed ---- */

/* "killed: python (pid 3017) with 3.1 GiB at 04:05:06" */
static void add_oom_kill(const struct oom_kill *v, unsigned int forms, struct rows *rows)
{
	time_t seconds = (time_t)(v->time_ns / 1000000000);
	char clock[16] = "";
	struct tm tm;

	rows_alert(rows, forms, NULL, "killed: %s (pid %d)", *v->command ? v->command : "-",
		   v->pid);
	if (v->rss.is_known)
		rows_say(rows, " ", "with %s", humanize_bytes(v->rss.number).text);
	if (v->time_ns && localtime_r(&seconds, &tm) &&
	    strftime(clock, sizeof(clock), "%H:%M:%S", &tm))
		rows_say(rows, " ", "at %s", clock);
}

void oom_kills_rows(const struct oom_list *oom_list, struct rows *rows)
{
	for (size_t i = 0; i < oom_list->count; i++)
		add_oom_kill(&oom_list->items[i], i < OOM_LIST_SHOWN ? ROWS_ALL : ROWS_LONG, rows);
}

/* ---- what was used ---- */

static void add_use(const struct record *r, struct rows *rows)
{
	const struct value *peak = value_of(r, METRIC_MEMORY_PEAK),
			   *limit = value_of(r, METRIC_MEMORY_LIMIT);
	const struct value *process = value_of(r, METRIC_MEMORY_PROCESS_PEAK);
	const struct value *shown = peak->is_known ? peak : process;

	rows_line(rows, ROWS_ALL, "memory", "%s%s",
		  shown->is_known ? humanize_bytes(shown->number).text : "-",
		  peak->is_known      ? " peak"
		  : process->is_known ? " peak of one process"
				      : "");
	/* the greatest of many against the sum of their limits would mislead */
	if (r->merged_records > 1 && peak->is_known)
		rows_say(rows, " ", "of any one record");
	else if (limit->is_known && peak->is_known)
		rows_say(rows, " ", "of %s", humanize_bytes(limit->number).text);
}

static void add_faults(const struct record *r, struct rows *rows)
{
	const struct value *minor = value_of(r, METRIC_MEMORY_MINOR_FAULTS);
	const struct value *major = value_of(r, METRIC_MEMORY_MAJOR_FAULTS);

	rows_note(rows, "faults %s minor, %s major",
		  minor->is_known ? humanize_count(minor->number).text : "-",
		  major->is_known ? humanize_count(major->number).text : "-");
}

/* What the group's memory was used for, each at its own greatest. */
static void add_parts(const struct record *r, struct rows *rows)
{
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

	rows_begin(rows, ROWS_FULL, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const struct value *value = value_of(r, parts[i].id);

		if (!value->is_known || !value->number)
			continue;
		rows_say(rows, ", ", "%s %s", parts[i].name, humanize_bytes(value->number).text);
		is_any = true;
	}
	if (is_any)
		rows_say(rows, " ", "(each at its greatest look)");
}

/* Pages that others brought in are not the group's, but a process that uses them shows them as its
 * own: then people find a larger number elsewhere, and want to know why. */
static void add_largest_process(const struct record *r, struct rows *rows)
{
	const struct value *peak = value_of(r, METRIC_MEMORY_PEAK);
	const struct value *process = value_of(r, METRIC_MEMORY_PROCESS_PEAK);

	if (!peak->is_known || !process->is_known)
		return;
	if (process->number > peak->number)
		rows_line(rows, ROWS_FULL, NULL,
			  "%s in one process, with pages that it shares with others",
			  humanize_bytes(process->number).text);
	else
		rows_line(rows, ROWS_HTML, NULL, "%s in one process",
			  humanize_bytes(process->number).text);
}

void memory_rows(const struct record *r, struct rows *rows)
{
	const struct value *kills = value_of(r, METRIC_MEMORY_OOM_KILLS);

	add_use(r, rows);
	add_faults(r, rows);
	add_parts(r, rows);
	add_largest_process(r, rows);
	if (kills->is_known && kills->number > 0)
		rows_alert(rows, ROWS_ALL, NULL, "%s process%s killed because memory ran out",
			   humanize_count(kills->number).text,
			   kills->number == 1 ? " was" : "es were");
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
		{ "CPU, program", .forms = ROWS_HTML },
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
		rows_remark(table, ROWS_MARKDOWN, "and %zu more steps",
			    steps->count - STEPS_LISTED);
	if (steps->count > STEPS_SHOWN)
		rows_remark(table, ROWS_HTML, "and %zu more", steps->count - STEPS_SHOWN);
}
