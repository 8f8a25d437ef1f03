/* SPDX-License-Identifier: MIT */
#include "trace/gpu_work.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/parse.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "bpf/trace_rows.h"
#include "model/rows.h"
#include "trace/probe.h"

#define KERNELS_SHOWN 20
#define NAME_BYTES 256

struct gpu_task { /* of one kind and one label */
	enum probe_kind kind; /* of collectives and messages: PROBE_CALL */
	bool is_async;
	char *label;
	struct trace_numbers numbers;
};

static int compare_labels(const void *a, const void *b)
{
	const struct gpu_task *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->is_async != y->is_async)
		return x->is_async ? 1 : -1;
	return strcmp(x->label, y->label);
}

static int compare_sizes(const void *a, const void *b)
{
	const struct gpu_task *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->numbers.bytes != y->numbers.bytes)
		return x->numbers.bytes > y->numbers.bytes ? -1 : 1;
	if (x->numbers.calls != y->numbers.calls)
		return x->numbers.calls > y->numbers.calls ? -1 : 1;
	return compare_labels(a, b);
}

/* One part of a mangled name, "2at"; false: it is none. */
static bool take_part(const char **at, const char **ret, size_t *ret_length)
{
	uint64_t length;

	while (**at == 'L') /* of one file alone */
		++*at;
	if (strncmp(*at, "St", 2) == 0) {
		*ret = "std";
		*ret_length = 3;
		*at += 2;
		return true;
	}
	if (parse_leading_u64(at, &length) < 0 || !length)
		return false;
	*ret = *at;
	*ret_length = strnlen(*at, length);
	*at += *ret_length;
	return true;
}

void gpu_work_kernel_name(const char *name, char *ret, size_t size)
{
	const char *at = name + 2, *part;
	size_t length, used = 0;

	snprintf(ret, size, "%s", name);
	if (strncmp(name, "_Z", 2) != 0)
		return;
	at += *at == 'N';
	while (used < size && take_part(&at, &part, &length)) {
		if (strncmp(part, "_GLOBAL__N_", 11) == 0) /* a namespace without a name */
			continue;
		used += (size_t)snprintf(ret + used, size - used, "%s%.*s", used ? "::" : "",
					 (int)length, part);
	}
	if (used && used < size && *at == 'I')
		snprintf(ret + used, size - used, "<...>");
}

static bool is_message(const struct probe *probe)
{
	return probe->key_count &&
	       (probe->kind == PROBE_COLLECTIVE || probe->kind == PROBE_ROOTED ||
		probe->kind == PROBE_SEND || probe->kind == PROBE_RECEIVE);
}

int gpu_work_add(struct gpu_work *w, const struct probe *probe, const char *name, const char *label,
		 const struct trace_sums *sums)
{
	struct gpu_task *task;
	char kernel[NAME_BYTES], *copy = NULL;

	if (probe->kind < PROBE_LAUNCH && !is_message(probe))
		return 0;
	if (array_reserve(&w->tasks, &w->room, w->count, sizeof(*w->tasks)) < 0)
		return -ENOMEM;
	if (probe->kind == PROBE_LAUNCH && label) {
		gpu_work_kernel_name(label, kernel, sizeof(kernel));
		label = kernel;
	}
	if (is_message(probe) && label)
		copy = asprintf(&copy, "%s of %s", name, label) < 0 ? NULL : copy;
	else
		copy = strdup(label ? label : name);
	if (!copy)
		return -ENOMEM;
	task = &w->tasks[w->count++];
	*task = (struct gpu_task){ .kind = is_message(probe) ? PROBE_CALL : probe->kind,
				   .is_async = probe->is_async,
				   .label = copy,
				   .numbers = sums->numbers };
	return 0;
}

/* Those of one label become one. */
static void gpu_work_merge(struct gpu_work *w)
{
	size_t kept = 0;

	if (!w->count)
		return;
	qsort(w->tasks, w->count, sizeof(*w->tasks), compare_labels);
	for (size_t i = 0; i < w->count; i++) {
		struct gpu_task *to = &w->tasks[kept ? kept - 1 : 0], *from = &w->tasks[i];

		if (!kept || compare_labels(to, from) != 0) {
			w->tasks[kept++] = *from;
			continue;
		}
		to->numbers.calls += from->numbers.calls;
		to->numbers.bytes += from->numbers.bytes;
		to->numbers.bytes_unknown += from->numbers.bytes_unknown;
		to->numbers.ns += from->numbers.ns;
		free(from->label);
	}
	w->count = kept;
	qsort(w->tasks, w->count, sizeof(*w->tasks), compare_sizes);
}

static struct gpu_task gpu_work_sum(const struct gpu_work *w, enum probe_kind kind)
{
	struct gpu_task sum = {};

	for (size_t i = 0; i < w->count; i++) {
		if (w->tasks[i].kind != kind)
			continue;
		sum.numbers.calls += w->tasks[i].numbers.calls;
		sum.numbers.bytes += w->tasks[i].numbers.bytes;
		sum.numbers.ns += w->tasks[i].numbers.ns;
	}
	return sum;
}

static void gpu_work_add_launches(const struct gpu_work *w, struct rows *rows)
{
	static const struct rows_column columns[] = {
		{ "kernel", .least = 28 },
		{ "launches" },
		{ "share", .rank = 1 },
	};
	const uint64_t all = gpu_work_sum(w, PROBE_LAUNCH).numbers.calls;
	struct rows_table *table;
	size_t kernels = 0, unnamed = 0;

	if (!all)
		return;
	table = rows_table(rows, ROWS_ALL, "launches", columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < w->count; i++) {
		const struct gpu_task *task = &w->tasks[i];

		if (task->kind != PROBE_LAUNCH)
			continue;
		unnamed += strncmp(task->label, "0x", 2) == 0;
		if (++kernels > KERNELS_SHOWN)
			continue;
		rows_row(table, ROWS_ALL);
		rows_cell(table, cell_words(task->label));
		rows_cell(table, cell_number(ROWS_COUNT, task->numbers.calls));
		rows_cell(table, cell_share((double)task->numbers.calls / (double)all));
	}
	if (kernels > KERNELS_SHOWN)
		rows_remark(table, ROWS_ALL, "and %zu more", kernels - KERNELS_SHOWN);
	if (unnamed)
		rows_remark(table, ROWS_ALL,
			    "the names of %zu kernels were not seen: they were in use before",
			    unnamed);
}

static void gpu_work_add_copies(const struct gpu_work *w, struct rows *rows)
{
	const char *label = "copies";

	for (size_t i = 0; i < w->count; i++) {
		const struct gpu_task *task = &w->tasks[i];
		double rate = (double)task->numbers.bytes * 1e9 /
			      (double)MAX(task->numbers.ns, (uint64_t)1);

		if (task->kind != PROBE_COPY)
			continue;
		rows_begin(rows, ROWS_ALL, label);
		rows_say(rows, ", ", "%s  %s in %s calls", task->label,
			 humanize_bytes(task->numbers.bytes).text,
			 humanize_count(task->numbers.calls).text);
		if (task->numbers.bytes_unknown)
			rows_say(rows, ", ", "of %s the bytes are not known",
				 humanize_count(task->numbers.bytes_unknown).text);
		if (task->is_async)
			rows_say(rows, ", ", "which do not wait for it");
		else if (task->numbers.ns)
			rows_say(rows, ", ", "%s/s", humanize_bytes((uint64_t)rate).text);
		label = NULL;
	}
}

static void gpu_work_add_messages(const struct gpu_work *w, struct rows *rows)
{
	const char *label = "messages";

	for (size_t i = 0; i < w->count; i++) {
		const struct gpu_task *task = &w->tasks[i];

		if (task->kind != PROBE_CALL)
			continue;
		rows_line(rows, ROWS_ALL, label, "%s  %s in %s calls", task->label,
			  humanize_bytes(task->numbers.bytes).text,
			  humanize_count(task->numbers.calls).text);
		label = NULL;
	}
}

static void gpu_work_add_memory(const struct gpu_work *w, struct rows *rows)
{
	const struct gpu_task allocated = gpu_work_sum(w, PROBE_ALLOCATE),
			      freed = gpu_work_sum(w, PROBE_FREE),
			      filled = gpu_work_sum(w, PROBE_FILL);

	rows_begin(rows, ROWS_ALL, "memory");
	if (allocated.numbers.calls)
		rows_say(rows, ", ", "%s allocated in %s calls",
			 humanize_bytes(allocated.numbers.bytes).text,
			 humanize_count(allocated.numbers.calls).text);
	if (freed.numbers.calls)
		rows_say(rows, ", ", "freed in %s calls", humanize_count(freed.numbers.calls).text);
	if (filled.numbers.calls)
		rows_say(rows, ", ", "%s filled in %s calls",
			 humanize_bytes(filled.numbers.bytes).text,
			 humanize_count(filled.numbers.calls).text);
}

void gpu_work_rows(struct gpu_work *w, uint64_t wall_ns, size_t processes, struct rows *rows)
{
	struct gpu_task waits;

	gpu_work_merge(w);
	waits = gpu_work_sum(w, PROBE_SYNCHRONISE);
	rows_part(rows, "GPU work, as the host asked for it (no time here is the GPU's own)");
	rows_gap(rows);
	gpu_work_add_launches(w, rows);
	rows_gap(rows);
	gpu_work_add_copies(w, rows);
	gpu_work_add_messages(w, rows);
	gpu_work_add_memory(w, rows);
	if (waits.numbers.calls)
		rows_line(rows, ROWS_ALL, "waits",
			  "the host waited %s for the GPU in %s calls, %.1f %% of the wall time",
			  humanize_duration(waits.numbers.ns).text,
			  humanize_count(waits.numbers.calls).text,
			  100 * (double)waits.numbers.ns /
				  (double)MAX(wall_ns * MAX(processes, (size_t)1), (uint64_t)1));
	if (w->count)
		rows_line(
			rows, ROWS_ALL, NULL,
			"Host side: times are those of calls. How long the GPU worked is in none.");
}

void gpu_work_clear(struct gpu_work *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->tasks[i].label);
	free(w->tasks);
	*w = (struct gpu_work){};
}
