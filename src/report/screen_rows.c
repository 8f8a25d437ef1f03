/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/formula.h"
#include "analysis/working_time.h"
#include "basic/cleanup.h"
#include "basic/humanize.h"
#include "basic/utf8.h"
#include "model/record.h"
#include "model/rows.h"
#include "report/mount_rows.h"
#include "report/record_rows.h"
#include "report/rows_items.h"
#include "report/shade.h"

#define SHARE_MIN 0.01 /* less is one of the others */
#define FILES_MIN 0.25 /* of the peak: less does not make it another number */
#define PARTS_SHOWN 4 /* of working time: a line's worth, or a little more */
#define WORK_MIN 0.05 /* of the run: with less there are no shares */
#define STARVED_MIN 0.2 /* of the time that it wanted a core, and of the cores that it had */
#define MUCH_MAPPED (16 << 20) /* libraries of most programs are less */
#define LITTLE_BYTES 1048576 /* also of what starts programs, and of /proc and the like */

/* ---- efficiency ---- */

/* It used little since it got little: how many more cores its threads were ready for. */
static void say_waited(const struct record *r, const struct use *use, struct rows *rows)
{
	const struct value *waited = record_value(r, METRIC_CPU_RUN_QUEUE);
	const double cpu_ns = (double)(record_value(r, METRIC_CPU_USER)->number +
				       record_value(r, METRIC_CPU_SYSTEM)->number);
	double more;

	if (!waited->is_known || !use->allocated.is_known || !(cpu_ns > 0) ||
	    (double)waited->number < STARVED_MIN * (cpu_ns + (double)waited->number))
		return;
	more = MIN(use->used.number * (double)waited->number / cpu_ns,
		   use->allocated.number - use->used.number);
	if (more >= STARVED_MIN * use->used.number)
		rows_say(rows, ", ", "waited for %s more",
			 amount_format(amount_of(more), DIMENSION_NUMBER).text);
}

static void add_cpu(const struct record *r, const struct use *use, struct rows *rows)
{
	const struct value *user = record_value(r, METRIC_CPU_USER),
			   *system = record_value(r, METRIC_CPU_SYSTEM);

	rows_begin(rows, ROWS_FIRST, "CPU efficiency");
	rows_share(rows, use->share.is_known, use->share.number);
	if (!use->used.is_known)
		return;
	rows_say(rows, "", "%s%s", rows_bound(rows),
		 amount_format(use->used, DIMENSION_NUMBER).text);
	if (use->allocated.is_known)
		rows_say(rows, " ", "of %s", amount_format(use->allocated, DIMENSION_NUMBER).text);
	rows_say(rows, " ", "core%s",
		 (use->allocated.is_known ? use->allocated : use->used).number == 1 ? "" : "s");
	rows_say(rows, " ", "(user %s, kernel %s)", humanize_duration(user->number).text,
		 humanize_duration(system->number).text);
}

/* Why it is more than processes show: files that the kernel keeps in memory for it. */
static void say_files(const struct record *r, uint64_t peak, struct rows *rows)
{
	const uint64_t file = record_value(r, METRIC_MEMORY_FILE_PEAK)->number,
		       shared = record_value(r, METRIC_MEMORY_SHMEM_PEAK)->number;
	const bool is_shared = shared >= file / 2;

	if ((double)MAX(file, shared) > FILES_MIN * (double)peak)
		rows_say(rows, " ", "(%s %s)", is_shared ? "shared memory" : "cache",
			 humanize_bytes(is_shared ? shared : file).text);
}

static void add_efficiency(const struct record *r, const struct use *use, struct rows *rows)
{
	const uint64_t limit = record_value(r, METRIC_MEMORY_LIMIT)->number;

	rows_begin(rows, ROWS_FIRST, "Memory efficiency");
	rows_share(rows, true, use->share.number);
	if (record_reached_memory_limit(r)) {
		rows_say(rows, "", "reached its limit of %s", humanize_bytes(limit).text);
	} else {
		struct human a = humanize_bytes((uint64_t)use->used.number),
			     b = humanize_bytes(limit);
		char *unit = strchr(a.text, ' '), *unit_of_whole = strchr(b.text, ' ');

		if (unit && unit_of_whole && strcmp(unit, unit_of_whole) == 0)
			*unit = '\0';
		rows_say(rows, "", "%s of %s at its peak", a.text, b.text);
	}
	say_files(r, (uint64_t)use->used.number, rows);
}

/* "≥" also where processes go on: nothing is known of their end. */
static const char *bound_of(const struct record *r, const struct rows *rows)
{
	return strings_contain(&r->coverage.notes, RECORD_NOTE_ENDING) || r->survivor_count
		       ? "≥"
		       : rows_bound(rows);
}

/* Without a limit there is no efficiency. */
static void add_memory(const struct record *r, const struct use *use, struct rows *rows)
{
	const struct value *peak = record_value(r, METRIC_MEMORY_PEAK),
			   *process = record_value(r, METRIC_MEMORY_PROCESS_PEAK);

	if (use->share.is_known) {
		add_efficiency(r, use, rows);
		return;
	}
	rows_begin(rows, ROWS_FIRST, "Memory");
	if (peak->is_known) {
		rows_say(rows, "", "%s at its peak%s", humanize_bytes(peak->number).text,
			 r->merged_records > 1 ? " in any one record" : "");
		say_files(r, peak->number, rows);
	} else if (process->is_known) {
		rows_say(rows, "", "%s%s in the largest process", bound_of(r, rows),
			 humanize_bytes(process->number).text);
	} else {
		rows_say(rows, "", "-");
	}
}

/* ---- working time ---- */

struct part {
	const char *word;
	double seconds;
};

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

#define PARTS_MAX (LOST_COUNT + 2)

/* The largest first.  Computing is what the program's own code can have been: the rest of its CPU
 * time outside of calls on files is the kernel's. */
static size_t list_parts(const struct record *r, const struct working_time *work,
			 struct part ret[PARTS_MAX])
{
	const struct value *user = record_value(r, METRIC_CPU_USER);
	double own = work->knows_calls && user->is_known
			     ? MIN(work->computing, (double)user->number / 1e9)
			     : work->computing;
	size_t count = 0;

	ret[count++] = (struct part){ work->knows_calls ? "computing" : "on CPU", own };
	ret[count++] = (struct part){ "other kernel", work->computing - own };
	for (size_t c = 0; c < LOST_COUNT; c++) {
		if (lost_can_be(c))
			ret[count++] = (struct part){ shade_of_cause(c)->word, work->parts[c] };
	}
	qsort(ret, count, sizeof(*ret), compare_parts);
	return count;
}

/* What is not work, and yet was most of the run: the longest of it.  A shell that waits for its
 * command is no news. */
static void say_idle(const struct record *r, double work, struct rows *rows)
{
	const struct value *longest = NULL;
	size_t cause = 0;

	for (size_t c = 0; c < CAUSE_COUNT; c++) {
		const struct value *value = record_value(r, lost_metric(c));

		if (lost_can_be(c) || c == CAUSE_CHILDREN || !value->is_known ||
		    (longest && longest->number >= value->number))
			continue;
		longest = value;
		cause = c;
	}
	if (longest && (double)longest->number / 1e9 > work)
		rows_say(rows, " ", "(%s %s%s)", humanize_duration(longest->number).text,
			 shade_of_cause(cause)->waited,
			 longest->number > r->time.elapsed_ns ? " over all threads" : "");
}

/* Processes and threads.  False: not known. */
static bool count_tasks(const struct record *r, uint64_t *ret)
{
	const struct value *ended = record_value(r, METRIC_TASKS_ENDED),
			   *live = record_value(r, METRIC_TASKS_LIVE);

	*ret = ended->number + (live->is_known ? live->number : 0);
	return ended->is_known;
}

/* Shares of next to nothing say nothing. */
static void add_work(const struct record *r, struct rows *rows)
{
	const struct working_time work = working_time_of(r);
	const double elapsed = (double)r->time.elapsed_ns / 1e9 * MAX(r->merged_records, 1U);
	const struct human seconds = amount_format(amount_of(work.seconds), DIMENSION_SECONDS);
	uint64_t tasks;
	bool is_one = count_tasks(r, &tasks) && tasks == 1;

	if (!work.is_known || !(work.seconds > 0))
		return;
	rows_begin(rows, ROWS_FIRST, "Working time");
	if (work.seconds <= WORK_MIN * elapsed) {
		rows_say(rows, "", "%s in %s", seconds.text,
			 amount_format(amount_of(elapsed), DIMENSION_SECONDS).text);
	} else {
		double sum;
		struct part parts[PARTS_MAX];
		size_t count;
		double little = 0;

		rows_say(rows, "", "%s%s:", seconds.text, is_one ? "" : " over all threads");
		sum = work.seconds;
		count = list_parts(r, &work, parts);
		for (size_t i = 0; i < count; i++) {
			if (i < PARTS_SHOWN && parts[i].seconds >= SHARE_MIN * sum)
				rows_say(rows, i ? ", " : " ", "%s %s", parts[i].word,
					 humanize_percent(parts[i].seconds / sum).text);
			else
				little += parts[i].seconds;
		}
		if (little >= SHARE_MIN * sum)
			rows_say(rows, ", ", "other %s", humanize_percent(little / sum).text);
	}
	say_idle(r, work.seconds, rows);
}

/* ---- processes ---- */

/* "no crash", "2 crashes" */
static void say_number(const struct value *value, const char *one, const char *many,
		       struct rows *rows)
{
	if (value->is_known)
		rows_say(rows, ", ", "%s %s",
			 value->number ? humanize_count(value->number).text : "no",
			 value->number > 1 ? many : one);
}

/* It says nothing new beside a peak that holds it and little else.  Above the peak it has pages
 * that others are charged for: the two would contradict each other, and --full tells them apart. */
static bool tells_more(const struct record *r, const struct value *largest)
{
	const struct value *peak = record_value(r, METRIC_MEMORY_PEAK);
	const uint64_t files = MAX(record_value(r, METRIC_MEMORY_FILE_PEAK)->number,
				   record_value(r, METRIC_MEMORY_SHMEM_PEAK)->number);

	return !peak->is_known ||
	       (files <= peak->number && largest->number <= peak->number - files);
}

static void add_processes(const struct record *r, struct rows *rows)
{
	const struct value *crashed = record_value(r, METRIC_TASKS_CRASHED),
			   *killed = record_value(r, METRIC_MEMORY_OOM_KILLS),
			   *largest = record_value(r, METRIC_MEMORY_PROCESS_PEAK),
			   *peak = record_value(r, METRIC_MEMORY_PEAK);
	const char *bound = bound_of(r, rows);
	uint64_t count;
	bool is_known = count_tasks(r, &count);

	if ((crashed->is_known && crashed->number) || (killed->is_known && killed->number))
		rows_alert(rows, ROWS_FIRST, "Processes", "%s", "");
	else
		rows_line(rows, ROWS_FIRST, "Processes", "%s", "");
	if (is_known)
		rows_say(rows, "", "%s%s process%s", bound, humanize_count(count).text,
			 count == 1 ? "" : "es and threads");
	/* without a peak the line of memory has it, too */
	if (largest->is_known && tells_more(r, largest) && (is_known || peak->is_known))
		rows_say(rows, ", ", "largest %s%s", bound, humanize_bytes(largest->number).text);
	say_number(crashed, "crash", "crashes", rows);
	say_number(killed, "OOM kill", "OOM kills", rows);
}

#define SURVIVORS_SHOWN 8

void efficiency_rows(const struct record *r, const struct analysis *a, bool is_short,
		     struct rows *rows)
{
	const struct use *cores = &a->efficiency.uses[RESOURCE_CORES];

	add_cpu(r, cores, rows);
	if (!is_short && cores->used.is_known)
		say_waited(r, cores, rows);
	add_memory(r, &a->efficiency.uses[RESOURCE_MEMORY], rows);
}

/* All that is known of files without BPF: what calls moved, of files, pipes and terminals alike. */
static void add_io(const struct record *r, struct rows *rows)
{
	const struct value *read = record_value(r, METRIC_IO_CHARS_READ),
			   *written = record_value(r, METRIC_IO_CHARS_WRITTEN);

	if (r->reading.has_mounts || !read->is_known || !written->is_known)
		return;
	rows_begin(rows, ROWS_FIRST, "Read, written");
	rows_say(rows, "", "%s%s read in %s calls, %s%s written in %s (files, pipes, terminals)",
		 rows_bound(rows), humanize_bytes(read->number).text,
		 humanize_count(record_value(r, METRIC_IO_CALLS_READ)->number).text,
		 rows_bound(rows), humanize_bytes(written->number).text,
		 humanize_count(record_value(r, METRIC_IO_CALLS_WRITTEN)->number).text);
}

/* What a process had in memory that is not charged to the job was there before: files, which it
 * mapped or its libraries are.  Of a job that was not measured from its start it may be its own. */
static uint64_t mapped_before(const struct record *r)
{
	const struct value *peak = record_value(r, METRIC_MEMORY_PEAK),
			   *largest = record_value(r, METRIC_MEMORY_PROCESS_PEAK);

	return peak->is_known && largest->is_known && largest->number > peak->number &&
			       r->merged_records <= 1 &&
			       r->time.start_ns == r->time.measured_from_ns
		       ? largest->number - peak->number
		       : 0;
}

/* What is read by a mapping is in no call; what was in memory before is not paged in. */
static void add_mapped(const struct record *r, struct rows *rows)
{
	const uint64_t before = mapped_before(r);
	uint64_t read = 0, written = 0;

	(void)record_total(r, METRIC_MAPPED_READ_BYTES, &read);
	(void)record_total(r, METRIC_MAPPED_WRITE_BYTES, &written);
	if (read + written >= LITTLE_BYTES)
		mapped_rows(r, ROWS_SCREEN, "Mapped files", rows);
	else
		rows_begin(rows, ROWS_SCREEN, "Mapped files");
	if (before >= MUCH_MAPPED)
		rows_say(rows, "; ", "≥%s in memory before, neither read nor charged to it",
			 humanize_bytes(before).text);
}

void summary_rows(const struct record *r, const struct analysis *a, struct rows *rows)
{
	const char *text = record_note(r, RECORD_NOTE_METERING "about ");

	efficiency_rows(r, a, false, rows);
	add_work(r, rows);
	add_io(r, rows);
	add_mapped(r, rows);
	network_row(r, rows);
	gpu_row(r, rows);
	energy_row(r, rows);
	rows_line(rows, ROWS_FIRST, "Emissions", "%s", r->emissions ? r->emissions : "");
	add_processes(r, rows);
	rows_begin(rows, ROWS_FIRST, "Still running");
	for (size_t i = 0; i < MIN(r->survivor_count, (size_t)SURVIVORS_SHOWN); i++)
		rows_say(rows, ", ", "%s (pid %d)",
			 r->survivors[i].command ? r->survivors[i].command : "-",
			 r->survivors[i].pid);
	if (r->survivor_count > SURVIVORS_SHOWN)
		rows_say(rows, " ", "and %zu more", r->survivor_count - SURVIVORS_SHOWN);
	/* the cost of the meter, where it is noticeable */
	if (text)
		rows_line(rows, ROWS_SCREEN, "Metering", "~%s", text);
}

/* ---- files ---- */

#define MOUNTS_SHOWN 5
#define LITTLE_CALLS 1000

struct work {
	uint64_t bytes, calls, meta, ns;
};

static struct work work_of(const struct mount_row *row)
{
	const struct op_counts *read = &row->ops[OP_READ], *write = &row->ops[OP_WRITE];

	return (struct work){
		.bytes = read->bytes + write->bytes,
		.calls = read->calls + write->calls,
		.meta = mount_row_number(row, METRIC_META_CALLS),
		.ns = read->ns + write->ns + mount_row_number(row, METRIC_META_SECONDS),
	};
}

static uint64_t rank_of(const struct mount_row *row, const void *what)
{
	struct work work = work_of(row);

	(void)what;
	return work.bytes + work.calls + work.meta;
}

static struct work sum_of(const struct mount_rows *mounts)
{
	struct work sum = {};

	for (size_t i = 0; i < mounts->count; i++) {
		struct work work = work_of(mounts->items[i]);

		sum.bytes += work.bytes;
		sum.calls += work.calls;
		sum.meta += work.meta;
		sum.ns += work.ns;
	}
	return sum;
}

static bool is_share(uint64_t part, uint64_t whole)
{
	return part && (double)part >= SHARE_MIN * (double)whole;
}

/* Has the row a line of its own? */
static bool is_shown(const struct mount_row *row, const struct work *sum)
{
	struct work work = work_of(row);

	if ((row->kind == ROW_EXEC || row->kind == ROW_PSEUDO || row->kind == ROW_SOCKET ||
	     row->kind == ROW_OTHER) &&
	    work.bytes < LITTLE_BYTES)
		return false;
	return is_share(work.bytes, sum->bytes) || is_share(work.calls, sum->calls) ||
	       is_share(work.meta, sum->meta) || is_share(work.ns, sum->ns);
}

/* @op: of which the last column tells, if there is one; not of a pipe, whose reader waits for who
 * writes. */
static void add_row(const struct mount_row *row, enum file_op op, struct rows_table *table)
{
	double p99;
	bool has_p99 = op != OP_COUNT && row->has_histograms && row->has_seconds &&
		       row_is_of_files(row) && mount_row_is_timed(row, op) &&
		       histogram_quantile(HISTOGRAM_LATENCY, &row->latencies[op], 0.99, &p99) == 0;

	rows_row(table, ROWS_ALL);
	rows_cell(table, cell_words(row->kind == ROW_UNRESOLVED ? "(unresolved)" : row->mount));
	rows_cell(table, cell_least(ROWS_BYTES, row->ops[OP_READ].bytes));
	rows_cell(table, cell_least(ROWS_COUNT, row->ops[OP_READ].calls));
	rows_cell(table, cell_mean(&row->ops[OP_READ]));
	rows_cell(table, cell_least(ROWS_BYTES, row->ops[OP_WRITE].bytes));
	rows_cell(table, cell_least(ROWS_COUNT, row->ops[OP_WRITE].calls));
	rows_cell(table, cell_least(ROWS_COUNT, mount_row_number(row, METRIC_META_CALLS)));
	if (op != OP_COUNT)
		rows_cell(table,
			  cell_if(has_p99, cell_number(ROWS_TIME, has_p99 ? (uint64_t)p99 : 0)));
}

/* Is it worth a table?  What starts a program reads and opens some files, too. */
static bool is_much(const struct work *sum, uint64_t elapsed_ns)
{
	return sum->bytes >= LITTLE_BYTES || sum->calls + sum->meta >= LITTLE_CALLS ||
	       is_share(sum->ns, elapsed_ns);
}

/* The mounts that matter, and one row of all others where they come to anything together.  The last
 * column is of reads or of writes, whichever took longer on files; where other calls took longer
 * than both, there is none. */
void screen_files_rows(const struct record *r, struct rows *rows)
{
	_cleanup_(mount_rows_clear) struct mount_rows mounts = mount_rows_select(r, rank_of, NULL);
	const struct work sum = sum_of(&mounts);
	const struct file_times times = file_times_of(r);
	const enum file_op slower = times.write_ns > times.read_ns ? OP_WRITE : OP_READ,
			   op = MAX(times.read_ns, times.write_ns) < times.other_ns ? OP_COUNT
										    : slower;
	const struct rows_column columns[] = {
		{ "mount" },	{ "read" },
		{ "calls" },	{ "size", .rank = 2 },
		{ "written" },	{ "calls", .rank = 1 },
		{ "metadata" }, { op == OP_WRITE ? "p99 write" : "p99 read", .rank = 3 },
	};
	struct rows_table *table = rows_table(rows, ROWS_SCREEN, "files", columns,
					      ARRAY_SIZE(columns) - (op == OP_COUNT));
	struct mount_row others = { .kind = ROW_OTHER, .mount = (char[]){ "others" } };
	size_t shown = 0;

	if (table)
		table->lacks_dashes = true;
	for (size_t i = 0; is_much(&sum, r->time.elapsed_ns) && i < mounts.count; i++) {
		if (shown < MOUNTS_SHOWN && is_shown(mounts.items[i], &sum)) {
			add_row(mounts.items[i], op, table);
			shown++;
			continue;
		}
		for (size_t k = 0; k < OP_COUNT; k++)
			op_counts_add(&others.ops[k], &mounts.items[i]->ops[k]);
	}
	if (shown && is_shown(&others, &sum))
		add_row(&others, op, table);
}

/* ---- the end ---- */

#define LINE_MAX_COLUMNS 78

#define REMEDY ": ask your site " /* how the reasons begin that a user can do something about */

static void say_remedy(const struct strings *missing, struct rows *rows)
{
	for (size_t i = 0; i < missing->count; i++) {
		const char *remedy = strstr(missing->items[i], REMEDY);

		if (!remedy)
			continue;
		rows_say(rows, " ", "For these, %s.", remedy + strlen(": "));
		return;
	}
}

/* As much as a line holds, how much more there is, and how to get it. */
static void add_missing(const struct record *r, struct rows *rows)
{
	const struct strings *missing = &r->coverage.missing;
	size_t columns = utf8_columns("Not measured: , and 99 more."), said = 0, left = 0;

	rows_begin(rows, ROWS_SCREEN, NULL);
	for (size_t i = 0; i < missing->count; i++) {
		/* the part before the reason */
		_cleanup_free_ char *what = strndup(missing->items[i],
						    strcspn(missing->items[i], ":"));
		char *save = NULL;

		for (char *part = what ? strtok_r(what, ",", &save) : NULL; part;
		     part = strtok_r(NULL, ",", &save)) {
			part += strspn(part, " ");
			columns += utf8_columns(part) + 2;
			if (columns <= LINE_MAX_COLUMNS)
				rows_say(rows, "", "%s%s", said++ ? ", " : "Not measured: ", part);
			else
				left++;
		}
	}
	if (left)
		rows_say(rows, "", said ? " and %zu more" : "Not measured: %zu things", left);
	if (said || left)
		rows_say(rows, "", ".");
	say_remedy(missing, rows);
}

void screen_end_rows(const struct record *r, struct rows *rows)
{
	add_missing(r, rows);
	/* a watch keeps no record that `report` could find */
	rows_line(rows, ROWS_SCREEN, NULL, "More: jobmeter %s | jobmeter help report",
		  r->time.start_ns || !r->time.measured_from_ns
			  ? "report --full | --output job.html"
			  : "watch --full");
}
