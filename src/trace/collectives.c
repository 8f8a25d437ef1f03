/* SPDX-License-Identifier: MIT */
#include "trace/collectives.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"

struct queue { /* the calls of one process, by time */
	const struct collective_call *at, *end;
};

struct lateness { /* of one process */
	uint64_t times, ns;
};

static int compare_calls(const void *a, const void *b)
{
	const struct collective_call *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

void collectives_sort(struct collective_call *calls, size_t count)
{
	if (count)
		qsort(calls, count, sizeof(*calls), compare_calls);
}

/* The heads of all queues are one call, or the one that ended first is in none. */
static void take_heads(struct queue *queues, size_t count, struct lateness *late,
		       struct collective_sum *sum)
{
	size_t last = 0, first = 0;
	uint64_t waited = 0;

	for (size_t i = 1; i < count; i++) {
		if (queues[i].at->start_ns > queues[last].at->start_ns)
			last = i;
		if (queues[i].at->end_ns < queues[first].at->end_ns)
			first = i;
	}
	if (queues[last].at->start_ns > queues[first].at->end_ns) {
		queues[first].at++;
		sum->unmatched++;
		return;
	}
	for (size_t i = 0; i < count; i++)
		waited += queues[last].at->start_ns - queues[i].at->start_ns;
	sum->matched++;
	sum->waited_ns += waited;
	late[last].times++;
	late[last].ns += waited;
	for (size_t i = 0; i < count; i++)
		queues[i].at++;
}

/* Queues of @function's processes; the caller frees. */
static struct queue *make_queues(const struct collective_call *calls, size_t count,
				 uint32_t function, size_t *ret_count)
{
	struct queue *queues = NULL;
	size_t made = 0;

	for (size_t i = 0; i < count; i++) {
		if (calls[i].function != function)
			continue;
		if (!made || queues[made - 1].at->process != calls[i].process) {
			struct queue *more = reallocarray(queues, made + 1, sizeof(*queues));

			if (!more) {
				free(queues);
				return NULL;
			}
			queues = more;
			queues[made++] = (struct queue){ .at = &calls[i] };
		}
		queues[made - 1].end = &calls[i] + 1;
	}
	*ret_count = made;
	return queues;
}

static bool is_any_empty(const struct queue *queues, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (queues[i].at == queues[i].end)
			return true;
	}
	return false;
}

int collectives_sum(const struct collective_call *calls, size_t count, uint32_t function,
		    struct collective_sum *ret)
{
	_cleanup_free_ struct queue *queues = NULL;
	_cleanup_free_ struct lateness *late = NULL;
	_cleanup_free_ uint32_t *processes = NULL;
	struct collective_sum sum = {};
	size_t queue_count = 0, latest = 0;

	queues = make_queues(calls, count, function, &queue_count);
	if (queue_count < 2)
		return -ENODATA;
	late = calloc(queue_count, sizeof(*late));
	processes = calloc(queue_count, sizeof(*processes));
	if (!late || !processes)
		return -ENOMEM;
	for (size_t i = 0; i < queue_count; i++)
		processes[i] = queues[i].at->process;
	while (!is_any_empty(queues, queue_count))
		take_heads(queues, queue_count, late, &sum);
	for (size_t i = 0; i < queue_count; i++) {
		sum.unmatched += (uint64_t)(queues[i].end - queues[i].at);
		if (late[i].ns > late[latest].ns)
			latest = i;
	}
	sum.latest = processes[latest];
	sum.latest_times = late[latest].times;
	sum.latest_ns = late[latest].ns;
	*ret = sum;
	return 0;
}
