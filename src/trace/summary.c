/* SPDX-License-Identifier: MIT */
#include "trace/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/fnv.h"
#include "basic/humanize.h"
#include "basic/idmap.h"
#include "basic/macro.h"
#include "bpf/trace_rows.h"
#include "model/reading.h"
#include "model/rows.h"
#include "trace/call.h"
#include "trace/collectives.h"
#include "trace/gpu_work.h"

#define FUNCTIONS_SHOWN 20
#define DISTRIBUTIONS_SHOWN 8
#define RANKS_SHOWN 8 /* with the most time, and with the least */

struct summary_function {
	char *name;
	const struct probe *probe;
	const char *withheld; /* why calls have no time; NULL: they have */
	bool is_short; /* there were more calls than are counted */
	uint64_t own_ns; /* of each call's time, that the probe may take itself */
	struct trace_numbers all;
	uint64_t sizes[TRACE_BUCKETS], durations[TRACE_BUCKETS];
	struct trace_numbers *processes; /* by process, as many as process_room */
	size_t process_room;
};

struct trace_summary {
	struct summary_function *functions;
	size_t function_count, function_room;
	struct trace_process *processes;
	size_t process_count, process_room;
	struct collective_call *calls;
	size_t call_count, call_room;
	struct gpu_work gpu_work;
	bool is_cut; /* there were more calls than are compared */
	struct idmap groups; /* by process and communicator, whose calls belong together: struct
				group */
	uint64_t groupless; /* calls on others */
};

struct group {
	uint64_t id;
	unsigned int made; /* communicators that this process made of it */
};

struct trace_summary *trace_summary_new(void)
{
	return calloc(1, sizeof(struct trace_summary));
}

/* Its index, or -ENOMEM. */
static int64_t summary_find_process(struct trace_summary *s, const struct trace_process *process)
{
	for (size_t i = 0; i < s->process_count; i++) {
		if (s->processes[i].pid == process->pid)
			return (int64_t)i;
	}
	if (array_reserve(&s->processes, &s->process_room, s->process_count,
			  sizeof(*s->processes)) < 0)
		return -ENOMEM;
	s->processes[s->process_count] = *process;
	return (int64_t)s->process_count++;
}

/* Functions of one name in a set are one, whatever library has them. */
static int64_t summary_find_function(struct trace_summary *s, const struct probe *probe,
				     const char *name)
{
	char *copy;

	for (size_t i = 0; i < s->function_count; i++) {
		if (s->functions[i].probe->set == probe->set &&
		    strcmp(s->functions[i].name, name) == 0)
			return (int64_t)i;
	}
	copy = strdup(name);
	if (!copy || array_reserve(&s->functions, &s->function_room, s->function_count,
				   sizeof(*s->functions)) < 0) {
		free(copy);
		return -ENOMEM;
	}
	s->functions[s->function_count] = (struct summary_function){ .name = copy, .probe = probe };
	return (int64_t)s->function_count++;
}

static int summary_make_room(struct summary_function *f, size_t processes)
{
	size_t room = MAX(processes, 2 * f->process_room);
	struct trace_numbers *more;

	if (processes <= f->process_room)
		return 0;
	more = reallocarray(f->processes, room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	memset(more + f->process_room, 0, (room - f->process_room) * sizeof(*more));
	f->processes = more;
	f->process_room = room;
	return 0;
}

static void add_numbers(struct trace_numbers *to, const struct trace_numbers *from)
{
	to->calls += from->calls;
	to->failed += from->failed;
	to->bytes += from->bytes;
	to->bytes_unknown += from->bytes_unknown;
	to->ns += from->ns;
}

int trace_summary_add_sums(struct trace_summary *s, const struct trace_process *process,
			   const struct probe *probe, const char *name, const char *label,
			   const struct trace_sums *sums)
{
	int64_t function = summary_find_function(s, probe, name);
	int64_t in = summary_find_process(s, process);
	struct summary_function *f;

	if (function < 0 || in < 0 ||
	    summary_make_room(&s->functions[function], (size_t)in + 1) < 0)
		return -ENOMEM;
	f = &s->functions[function];
	add_numbers(&f->all, &sums->numbers);
	add_numbers(&f->processes[in], &sums->numbers);
	for (size_t i = 0; i < TRACE_BUCKETS; i++) {
		f->sizes[i] += sums->sizes[i];
		f->durations[i] += sums->durations[i];
	}
	return gpu_work_add(&s->gpu_work, probe, name, label, sums);
}

void trace_summary_limit(struct trace_summary *s, const struct probe *probe, const char *name,
			 const struct trace_limits *limits)
{
	for (size_t i = 0; i < s->function_count; i++) {
		struct summary_function *f = &s->functions[i];

		if (f->probe->set != probe->set || strcmp(f->name, name) != 0)
			continue;
		f->withheld = limits->withheld ? limits->withheld : f->withheld;
		f->is_short |= limits->is_short;
		f->own_ns = MAX(f->own_ns, limits->own_ns);
	}
}

/* NULL: it is not known, but MPI_COMM_WORLD is; or there is no memory. */
static struct group *summary_get_group(struct trace_summary *s, const struct trace_process *process,
				       int64_t comm, uint64_t id)
{
	uint64_t key = fnv_bytes(fnv_bytes(FNV_BEGIN, &process->pid, sizeof(process->pid)), &comm,
				 sizeof(comm));
	struct group *g = idmap_get(&s->groups, key);

	if (!g && (id || comm == 0)) {
		g = calloc(1, sizeof(*g));
		if (g && idmap_put(&s->groups, key, g) < 0) {
			free(g);
			g = NULL;
		}
		id = id ? id : fnv_bytes(FNV_BEGIN, &process->run, sizeof(process->run));
	}
	if (g && id)
		*g = (struct group){ .id = id };
	return g;
}

/* The same calls on one communicator, of one colour, make communicators that belong together. */
static void summary_add_made(struct trace_summary *s, const struct trace_call *call,
			     struct group *of)
{
	const int new = probe_find_capture(call->probe, "new"),
		  color = probe_find_capture(call->probe, "color");
	uint64_t id = fnv_text(of->id, call->name);

	if (new < 0 || !(call->have & 1U << new) || call->result != 0)
		return;
	of->made++;
	id = fnv_bytes(id, &of->made, sizeof(of->made));
	if (color >= 0)
		id = fnv_bytes(id, &call->values[color], sizeof(call->values[color]));
	(void)summary_get_group(s, call->process, call->values[new], id);
}

int trace_summary_add_call(struct trace_summary *s, const struct trace_call *call)
{
	int comm = probe_find_capture(call->probe, "comm");
	int64_t function, process;
	struct group *group;

	if (call->probe->kind != PROBE_COLLECTIVE || call->probe->is_async || !call->has_returned ||
	    comm < 0 || !(call->have & 1U << comm))
		return 0;
	group = summary_get_group(s, call->process, call->values[comm], 0);
	if (!group) {
		s->groupless++;
		return 0;
	}
	summary_add_made(s, call, group);
	if (s->call_count == SUMMARY_CALLS_MAX) {
		s->is_cut = true;
		return 0;
	}
	function = summary_find_function(s, call->probe, call->name);
	process = summary_find_process(s, call->process);
	if (function < 0 || process < 0 ||
	    array_reserve(&s->calls, &s->call_room, s->call_count, sizeof(*s->calls)) < 0)
		return -ENOMEM;
	s->calls[s->call_count++] =
		(struct collective_call){ .function = (uint32_t)function,
					  .process = (uint32_t)process,
					  .start_ns = call->start_ns,
					  .end_ns = call->start_ns + call->duration_ns,
					  .group = group->id };
	return 0;
}

/* ---- rows ---- */

/* What is not the probe's own time, at least. */
static uint64_t summary_sure_ns(const struct summary_function *f)
{
	return f->all.ns - MIN(f->all.ns, f->all.calls * f->own_ns);
}

static int summary_compare_functions(const void *a, const void *b)
{
	const struct summary_function *x = *(const struct summary_function *const *)a;
	const struct summary_function *y = *(const struct summary_function *const *)b;

	const uint64_t x_ns = summary_sure_ns(x), y_ns = summary_sure_ns(y);

	if (x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	if (x->all.calls != y->all.calls)
		return x->all.calls > y->all.calls ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* The least value of bucket @i. */
static uint64_t summary_bucket_from(size_t i)
{
	return i ? UINT64_C(1) << (i - 1) : 0;
}

/* The least value of the bucket below which @share of the counts lie; -1: there are none. */
static int64_t summary_bucket_at(const uint64_t *counts, double share)
{
	uint64_t total = 0, below = 0;

	for (size_t i = 0; i < TRACE_BUCKETS; i++)
		total += counts[i];
	for (size_t i = 0; i < TRACE_BUCKETS; i++) {
		below += counts[i];
		if (counts[i] && (double)below >= share * (double)total)
			return (int64_t)summary_bucket_from(i);
	}
	return -1;
}

static const char *summary_process_name(const struct trace_summary *s, size_t process,
					struct rows *rows)
{
	const struct trace_process *p = &s->processes[process];

	return p->rank >= 0 ? rows_format(rows, "rank %d", p->rank)
			    : rows_format(rows, "%s (%u)", p->task, p->pid);
}

/* The time of the process with the most, over the mean of those that called it; 0: one did. */
static double summary_imbalance(const struct summary_function *f)
{
	uint64_t most = 0;
	size_t callers = 0;

	for (size_t i = 0; i < f->process_room; i++) {
		callers += f->processes[i].calls > 0;
		most = MAX(most, f->processes[i].ns);
	}
	return callers > 1 && f->all.ns ? (double)most * (double)callers / (double)f->all.ns : 0;
}

static void summary_add_function_row(const struct trace_summary *s,
				     const struct summary_function *f, uint64_t wall_ns,
				     struct rows_table *table)
{
	bool is_timed = f->probe->exit != PROBE_EXIT_NONE && (!f->withheld || f->all.ns);
	bool is_rated = is_timed && !f->withheld && !f->probe->is_async &&
			f->probe->kind != PROBE_ALLOCATE;
	bool has_bytes = f->probe->bytes_count && f->all.bytes_unknown < f->all.calls;
	double seconds = (double)f->all.ns / 1e9, imbalance = summary_imbalance(f);
	double share = (double)f->all.ns / (double)MAX(wall_ns, (uint64_t)1) /
		       (double)s->process_count;
	int64_t slow = summary_bucket_at(f->durations, 0.99);
	bool is_bound = f->withheld || f->is_short;
	bool is_probes = f->all.calls && summary_sure_ns(f) < f->all.ns / 2;

	rows_row(table, ROWS_ALL);
	rows_cell(table, cell_words(f->name));
	rows_cell(table, cell_bound(f->is_short, cell_number(ROWS_COUNT, f->all.calls)));
	if (is_timed && is_probes) {
		rows_words(table, "≤%s", humanize_duration(f->all.ns).text);
		rows_words(table, "≤%s", humanize_percent(share).text);
	} else {
		rows_cell(table, cell_bound(is_bound,
					    cell_if(is_timed, cell_number(ROWS_TIME, f->all.ns))));
		rows_cell(table, cell_bound(is_bound, cell_if(is_timed, cell_share(share))));
	}
	rows_cell(table, cell_bound(f->all.bytes_unknown || f->is_short,
				    cell_if(has_bytes, cell_number(ROWS_BYTES, f->all.bytes))));
	if (is_rated && has_bytes && f->all.bytes && f->all.ns && !is_probes)
		rows_words(table, "%s/s",
			   humanize_bytes((uint64_t)((double)f->all.bytes / seconds)).text);
	else
		rows_words(table, "-");
	if (imbalance > 0)
		rows_words(table, "%.2f", imbalance);
	else
		rows_words(table, "-");
	rows_cell(table, cell_if(slow >= 0, cell_number(ROWS_TIME, (uint64_t)slow)));
}

/* All functions that were given one by one are in one table. */
static bool summary_is_in(const struct summary_function *f, const struct probe_set *set)
{
	return f->probe->set == set || strcmp(f->probe->set->name, set->name) == 0;
}

/* Those of one set. */
static void summary_add_set(const struct trace_summary *s, struct summary_function *const *sorted,
			    const struct probe_set *set, const char *label, uint64_t wall_ns,
			    struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "function", .least = 20 },
		{ "calls" },
		{ "time" },
		{ "of wall", .rank = 1 },
		{ "bytes" },
		{ "rate", .rank = 3 },
		{ "imbalance", .rank = 2 },
		{ "p99 from", .rank = 4 },
	};
	struct rows_table *table = rows_table(rows, ROWS_ALL, label, columns, ARRAY_SIZE(columns));
	size_t count = 0;

	for (size_t i = 0; i < s->function_count; i++) {
		/* Without calls only events came: it has no sums. */
		if (summary_is_in(sorted[i], set) && sorted[i]->all.calls &&
		    ++count <= FUNCTIONS_SHOWN)
			summary_add_function_row(s, sorted[i], wall_ns, table);
	}
	if (count > FUNCTIONS_SHOWN)
		rows_remark(table, ROWS_ALL, "and %zu more", count - FUNCTIONS_SHOWN);
}

/* NULL: it is timed, or has no return. */
static const char *summary_why_untimed(const struct summary_function *f)
{
	if (f->withheld || f->probe->exit != PROBE_EXIT_NONE || f->probe->site != PROBE_FUNCTION)
		return f->withheld;
	return strcmp(f->probe->set->name, "ad-hoc") == 0
		       ? "'(exit=return)' behind a name does that"
		       : "the set counts calls alone";
}

/* Each reason once, most often: there is one for all. */
static void summary_add_withheld(struct summary_function *const *sorted, size_t count,
				 struct rows *rows)
{
	const char *before = "";

	for (size_t i = 0; i < count; i++) {
		const char *why = sorted[i]->all.calls ? summary_why_untimed(sorted[i]) : NULL;

		if (why && strcmp(why, before) != 0)
			rows_line(rows, ROWS_ALL, NULL, "%s and others: returns not traced: %s",
				  sorted[i]->name, why);
		before = why ? why : before;
	}
}

static void summary_add_functions(const struct trace_summary *s,
				  struct summary_function *const *sorted, uint64_t wall_ns,
				  struct rows *rows)
{
	bool is_of_many = false;

	for (size_t i = 1; i < s->function_count; i++)
		is_of_many |= !summary_is_in(sorted[i], sorted[0]->probe->set);
	rows_part(rows, "Functions");
	for (size_t i = 0; i < s->function_count; i++) {
		const struct probe_set *set = sorted[i]->probe->set;
		size_t first = 0;

		while (!summary_is_in(sorted[first], set))
			first++;
		if (first != i)
			continue;
		if (i)
			rows_gap(rows);
		summary_add_set(s, sorted, set, is_of_many ? set->name : "functions", wall_ns,
				rows);
	}
	summary_add_withheld(sorted, s->function_count, rows);
	for (size_t i = 0; i < s->function_count; i++) {
		const struct trace_numbers *all = &sorted[i]->all;

		if (all->failed)
			rows_alert(rows, ROWS_ALL, NULL, "%s returned %s in %s calls",
				   sorted[i]->name,
				   sorted[i]->probe->fails == PROBE_FAILS_BELOW_0
					   ? "a value below 0"
					   : "another value than 0",
				   humanize_count(all->failed).text);
		if (all->bytes_unknown)
			rows_line(rows, ROWS_ALL, NULL, "%s: the bytes of %s call%s are not known",
				  sorted[i]->name, humanize_count(all->bytes_unknown).text,
				  all->bytes_unknown == 1 ? "" : "s");
	}
}

/* "1 MiB: 2, 2 MiB: 2": what lies from there up to twice that. */
static void summary_add_sizes(struct summary_function *const *sorted, size_t count,
			      struct rows *rows)
{
	const char *label = "sizes from";

	rows_part(rows, "Sizes (each from this on up to twice this)");
	rows_gap(rows);
	for (size_t i = 0; i < MIN(count, (size_t)DISTRIBUTIONS_SHOWN); i++) {
		const uint64_t *counts = sorted[i]->sizes;

		if (summary_bucket_at(counts, 1) < 0)
			continue;
		rows_begin(rows, ROWS_ALL, label);
		label = NULL;
		for (size_t n = 0; n < TRACE_BUCKETS; n++) {
			if (counts[n])
				rows_say(rows, ", ", "%s%s%s: %s",
					 rows_has_said(rows) ? "" : sorted[i]->name,
					 rows_has_said(rows) ? "" : "  ",
					 humanize_bytes(summary_bucket_from(n)).text,
					 humanize_count(counts[n]).text);
		}
	}
}

struct rank_time { /* in functions of a set */
	size_t process;
	uint64_t ns;
	const struct summary_function *most;
};

static int summary_compare_ranks(const void *a, const void *b)
{
	const struct rank_time *x = a, *y = b;

	return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns)
			      : (x->process > y->process) - (x->process < y->process);
}

static struct rank_time summary_sum_rank(const struct trace_summary *s, const struct probe_set *set,
					 size_t process)
{
	struct rank_time sum = { .process = process };
	uint64_t most_ns = 0;

	for (size_t i = 0; i < s->function_count && s->processes[process].rank >= 0; i++) {
		const struct summary_function *f = &s->functions[i];
		uint64_t ns = process < f->process_room && summary_is_in(f, set)
				      ? f->processes[process].ns
				      : 0;

		sum.ns += ns;
		sum.most = ns > most_ns ? f : sum.most;
		most_ns = MAX(most_ns, ns);
	}
	return sum;
}

/* How long ranks were in functions of a set: all together, and those with the most and the least,
 * for which others may wait. */
static void summary_add_ranks(const struct trace_summary *s, const struct probe_set *set,
			      uint64_t wall_ns, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "process" },
		{ "time" },
		{ "of wall" },
		{ "most in", .is_left = true },
	};
	_cleanup_free_ struct rank_time *ranks = calloc(s->process_count + 1, sizeof(*ranks));
	const double wall = (double)MAX(wall_ns, (uint64_t)1);
	struct rows_table *table;
	uint64_t all_ns = 0;
	size_t count = 0;

	for (size_t i = 0; ranks && i < s->process_count; i++) {
		ranks[count] = summary_sum_rank(s, set, i);
		all_ns += ranks[count].ns;
		count += ranks[count].most != NULL;
	}
	if (!count)
		return;
	qsort(ranks, count, sizeof(*ranks), summary_compare_ranks);
	rows_gap(rows);
	table = rows_table(rows, ROWS_ALL, rows_format(rows, "in %s", set->name), columns,
			   ARRAY_SIZE(columns));
	rows_row(table, ROWS_ALL);
	rows_words(table, "%zu rank%s", count, count == 1 ? "" : "s");
	rows_cell(table, cell_number(ROWS_TIME, all_ns));
	rows_cell(table, cell_share((double)all_ns / wall / (double)count));
	rows_words(table, "imbalance %.2f", (double)ranks[0].ns * (double)count / (double)all_ns);
	for (size_t i = 0; i < count; i++) {
		const struct rank_time *r = &ranks[i];

		if (i >= RANKS_SHOWN && i + RANKS_SHOWN < count)
			continue;
		rows_row(table, ROWS_ALL);
		rows_cell(table, cell_words(summary_process_name(s, r->process, rows)));
		rows_cell(table, cell_number(ROWS_TIME, r->ns));
		rows_cell(table, cell_share((double)r->ns / wall));
		rows_words(table, "%s, %s", r->most->name,
			   humanize_duration(r->most->processes[r->process].ns).text);
	}
	if (count > 2 * RANKS_SHOWN)
		rows_remark(table, ROWS_ALL, "and %zu in between", count - 2 * RANKS_SHOWN);
}

static void summary_add_collectives(struct trace_summary *s, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "call" },
		{ "matched" },
		{ "not", .rank = 1 },
		{ "waited" },
		{ "mostly for", .is_left = true },
	};
	struct rows_table *table;

	rows_part(rows, "Waiting for the last rank");
	rows_gap(rows);
	table = rows_table(rows, ROWS_ALL, "waits", columns, ARRAY_SIZE(columns));
	collectives_sort(s->calls, s->call_count);
	for (size_t i = 0; i < s->function_count; i++) {
		struct collective_sum sum;

		if (s->functions[i].probe->kind != PROBE_COLLECTIVE)
			continue;
		if (collectives_sum(s->calls, s->call_count, (uint32_t)i, &sum) < 0)
			continue;
		rows_row(table, ROWS_ALL);
		rows_cell(table, cell_words(s->functions[i].name));
		rows_cell(table, cell_number(ROWS_COUNT, sum.matched));
		rows_cell(table, cell_number(ROWS_COUNT, sum.unmatched));
		rows_cell(table, cell_number(ROWS_TIME, sum.waited_ns));
		rows_words(table, "%s: last %s time%s, %s",
			   summary_process_name(s, sum.latest, rows),
			   humanize_count(sum.latest_times).text, sum.latest_times == 1 ? "" : "s",
			   humanize_duration(sum.latest_ns).text);
	}
	if (s->groupless)
		rows_line(
			rows, ROWS_ALL, NULL,
			"%s calls on communicators of which it was not seen how they were made are not compared",
			humanize_count(s->groupless).text);
	if (s->is_cut)
		rows_remark(table, ROWS_ALL, "only the first %s calls were compared",
			    humanize_count(SUMMARY_CALLS_MAX).text);
}

/* What functions of @set moved; layers of one another, as HDF5's and MPI-IO's, are not added up. */
static bool summary_add_moved(const struct trace_summary *s, const struct probe_set *set,
			      const char *label, struct rows *rows)
{
	static const enum probe_kind kinds[] = { PROBE_READ, PROBE_WRITE };
	static const char *const labels[] = { "read", "written" };
	bool is_any = false;

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		struct trace_numbers sum = {};

		for (size_t i = 0; i < s->function_count; i++) {
			const struct summary_function *f = &s->functions[i];

			if (f->probe->kind != kinds[k] || f->probe->set != set)
				continue;
			add_numbers(&sum, &f->all);
		}
		if (!sum.calls)
			continue;
		rows_line(rows, ROWS_ALL, is_any ? NULL : label,
			  "program  %s %s in %s calls of %s, %s/s (%s)", labels[k],
			  humanize_bytes(sum.bytes).text, humanize_count(sum.calls).text,
			  humanize_bytes(sum.bytes / sum.calls).text,
			  humanize_bytes((uint64_t)((double)sum.bytes * 1e9 /
						    (double)MAX(sum.ns, (uint64_t)1)))
				  .text,
			  set->name);
		is_any = true;
	}
	return is_any;
}

static void summary_add_files(const struct trace_summary *s, const struct reading *kernel,
			      struct rows *rows)
{
	bool is_any = false;

	rows_part(rows, "Files, as the program and as the kernel saw them");
	rows_gap(rows);
	for (size_t i = 0; i < s->function_count; i++) {
		const struct probe_set *set = s->functions[i].probe->set;
		size_t first = 0;

		while (s->functions[first].probe->set != set)
			first++;
		if (first == i)
			is_any |= summary_add_moved(s, set, is_any ? NULL : "files", rows);
	}
	if (!is_any)
		return;
	for (size_t i = 0; kernel && i < kernel->mount_count; i++) {
		const struct mount_row *row = &kernel->mounts[i];
		const struct op_counts *read = &row->ops[OP_READ], *written = &row->ops[OP_WRITE];

		if (row->kind == ROW_MOUNT && row_is_own(row) && (read->bytes || written->bytes))
			rows_line(rows, ROWS_ALL, NULL,
				  "kernel   %s: %s read, %s written (%s and %s calls)", row->mount,
				  humanize_bytes(read->bytes).text,
				  humanize_bytes(written->bytes).text,
				  humanize_count(read->calls).text,
				  humanize_count(written->calls).text);
	}
	if (!kernel)
		rows_line(rows, ROWS_ALL, NULL, "kernel   not measured");
}

void trace_summary_rows(struct trace_summary *s, uint64_t wall_ns, bool is_any,
			const struct reading *kernel, struct rows *rows)
{
	_cleanup_free_ struct summary_function **sorted = calloc(s->function_count + 1,
								 sizeof(struct summary_function *));

	if (!sorted)
		return;
	for (size_t i = 0; i < s->function_count; i++)
		sorted[i] = &s->functions[i];
	qsort(sorted, s->function_count, sizeof(struct summary_function *),
	      summary_compare_functions);
	if (!s->function_count)
		rows_line(rows, ROWS_ALL, NULL, "No call of a probed function %s.",
			  is_any ? "returned" : "came");
	else
		summary_add_functions(s, sorted, wall_ns, rows);
	for (size_t i = 0, first; i < s->function_count; i++) {
		for (first = 0; !summary_is_in(sorted[first], sorted[i]->probe->set);)
			first++;
		if (first == i)
			summary_add_ranks(s, sorted[i]->probe->set, wall_ns, rows);
	}
	gpu_work_rows(&s->gpu_work, wall_ns, s->process_count, rows);
	summary_add_sizes(sorted, s->function_count, rows);
	summary_add_collectives(s, rows);
	summary_add_files(s, kernel, rows);
}

struct trace_summary *trace_summary_free(struct trace_summary *s)
{
	struct group *group;

	if (!s)
		return NULL;
	for (size_t i = 0; i < s->function_count; i++) {
		free(s->functions[i].name);
		free(s->functions[i].processes);
	}
	for (size_t at = 0; (group = idmap_next(&s->groups, &at));)
		free(group);
	idmap_clear(&s->groups);
	gpu_work_clear(&s->gpu_work);
	free(s->functions);
	free(s->processes);
	free(s->calls);
	free(s);
	return NULL;
}

void trace_summary_freep(struct trace_summary **s)
{
	*s = trace_summary_free(*s);
}
