/* SPDX-License-Identifier: MIT */
#include "trace/collectives.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "basic/cleanup.h"
#include "basic/macro.h"

struct queue { /* the calls of one process in a group, by time */
	const struct collective_call *at, *end;
	uint32_t process;
};

struct lateness { /* of one process */
	uint64_t times, ns;
};

static int compare_calls(const void *a, const void *b)
{
	const struct collective_call *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
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
	late[queues[last].process].times++;
	late[queues[last].process].ns += waited;
	for (size_t i = 0; i < count; i++)
		queues[i].at++;
}

/* Of @count calls of one group, as many queues as processes, for which there is room. */
static size_t make_queues(const struct collective_call *calls, size_t count, struct queue *queues)
{
	size_t made = 0;

	for (size_t i = 0; i < count; i++) {
		if (!made || queues[made - 1].process != calls[i].process)
			queues[made++] = (struct queue){ .at = &calls[i],
							 .process = calls[i].process };
		queues[made - 1].end = &calls[i] + 1;
	}
	return made;
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
	struct collective_sum sum = {};
	size_t room = 1;
	bool is_any = false;

	for (size_t i = 0; i < count; i++)
		room = MAX(room, (size_t)calls[i].process + 1);
	queues = calloc(room, sizeof(*queues));
	late = calloc(room, sizeof(*late));
	if (!queues || !late)
		return -ENOMEM;
	for (size_t i = 0, next; i < count; i = next) {
		size_t made;

		for (next = i + 1; next < count && calls[next].function == calls[i].function &&
				   calls[next].group == calls[i].group;)
			next++;
		if (calls[i].function != function)
			continue;
		made = make_queues(calls + i, next - i, queues);
		if (made < 2)
			continue;
		is_any = true;
		while (!is_any_empty(queues, made))
			take_heads(queues, made, late, &sum);
		for (size_t n = 0; n < made; n++)
			sum.unmatched += (uint64_t)(queues[n].end - queues[n].at);
	}
	for (uint32_t i = 0; i < room; i++) {
		if (late[i].ns > late[sum.latest].ns)
			sum.latest = i;
	}
	sum.latest_times = late[sum.latest].times;
	sum.latest_ns = late[sum.latest].ns;
	if (!is_any)
		return -ENODATA;
	*ret = sum;
	return 0;
}
