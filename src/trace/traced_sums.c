/* SPDX-License-Identifier: MIT */
#include "trace/traced_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "bpf/trace_rows.h"
#include "model/sections/trace.h"
#include "trace/sites.h"
#include "trace/tracer.h"

struct visit {
	const struct sites *sites;
	struct traced_calls *calls;
	uint32_t *processes; /* that called any, each as often as it has sums */
	size_t count, room;
};

void traced_sums_add(struct traced_function *to, const struct trace_numbers *more)
{
	*traced_number_ref(to, METRIC_TRACE_CALLS) += more->calls;
	*traced_number_ref(to, METRIC_TRACE_FAILED) += more->failed;
	*traced_number_ref(to, METRIC_TRACE_BYTES) += more->bytes;
	*traced_number_ref(to, METRIC_TRACE_UNSIZED) += more->bytes_unknown;
	*traced_number_ref(to, METRIC_TRACE_SECONDS) += more->ns;
}

/* NULL: no memory, or no name that a record takes. */
static struct traced_function *function_of(const struct visit *v, size_t row)
{
	const struct site_row *of = v->sites->rows[row];
	struct traced_function *f = NULL;

	(void)traced_get(v->calls, of->set->name, of->probe->name, &f);
	return f;
}

static int add_sums(void *context, const struct trace_sums_key *key, const struct trace_sums *sums)
{
	struct visit *v = context;
	struct traced_function *f = function_of(v, key->row);

	if (!f || array_reserve(&v->processes, &v->room, v->count, sizeof(*v->processes)) < 0)
		return -ENOMEM;
	v->processes[v->count++] = key->tgid;
	traced_sums_add(f, &sums->numbers);
	return 0;
}

static int add_losses(const struct visit *v, const struct tracer *t)
{
	for (size_t i = 0; i < v->sites->row_count; i++) {
		const bool is_dropped = v->sites->rows[i]->is_dropped;
		struct traced_function *f;
		struct trace_counts c;
		uint64_t lost;
		int r = tracer_get_counts(t, i, &c);

		if (r < 0)
			return r;
		lost = c.not_summed + c.too_deep + c.left;
		if (!lost && !is_dropped)
			continue;
		f = function_of(v, i);
		if (!f)
			return -ENOMEM;
		*traced_number_ref(f, METRIC_TRACE_LOST) += lost;
		*traced_number_ref(f, METRIC_TRACE_DROPPED) += is_dropped;
	}
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static size_t count_processes(struct visit *v)
{
	size_t count = 0;

	if (v->count)
		qsort(v->processes, v->count, sizeof(*v->processes), compare_numbers);
	for (size_t i = 0; i < v->count; i++)
		count += i == 0 || v->processes[i] != v->processes[i - 1];
	return count;
}

int traced_sums_read(const struct tracer *t, const struct sites *sites, uint64_t traced_ns,
		     struct traced_calls *ret)
{
	struct visit v = { .sites = sites, .calls = ret };
	int r;

	ret->is_known = true;
	for (size_t i = 0; i < ret->count; i++) {
		for (size_t n = 0; n < TRACED_NUMBERS; n++)
			ret->items[i].numbers[n] = 0;
	}
	r = tracer_visit_sums(t, add_sums, &v);
	if (r >= 0)
		r = add_losses(&v, t);
	ret->process_ns = count_processes(&v) * traced_ns;
	free(v.processes);
	return r < 0 ? r : 0;
}
