/* SPDX-License-Identifier: MIT */
#include "device_lines.h"

#include <stdlib.h>
#include <string.h>

#include "record.h"

static uint64_t moved(const struct device_line *line)
{
	return line->ops[BLOCK_READ]->bytes + line->ops[BLOCK_WRITE]->bytes + line->ops[BLOCK_DISCARD]->bytes;
}

static int compare_lines(const void *a, const void *b)
{
	const struct device_line *x = a, *y = b;

	if (moved(x) != moved(y))
		return moved(x) > moved(y) ? -1 : 1;
	return strverscmp(x->device, y->device);
}

size_t device_lines(const struct record *r, struct device_line ret[DEVICE_LINES_MAX])
{
	static const struct block_counts nothing;
	const struct block *b = &r->reading.block;
	size_t count = 0;

	for (size_t i = 0; i < b->count && count < DEVICE_LINES_MAX;) {
		size_t end = i + block_rows_of_device(b, i);
		struct device_line *line = &ret[count++];

		line->device = b->rows[i].device;
		for (size_t op = 0; op < BLOCK_OP_COUNT; op++)
			line->ops[op] = &nothing;
		for (; i < end; i++)
			line->ops[b->rows[i].op] = &b->rows[i].counts;
	}
	if (count > 1)
		qsort(ret, count, sizeof(*ret), compare_lines);
	return count;
}

static struct human no_time(void)
{
	return (struct human){ "-" };
}

struct human device_mean(const struct block_counts *counts)
{
	return counts->requests ? humanize_duration(counts->ns / counts->requests) : no_time();
}

struct human device_p99(const struct block_counts *counts)
{
	double ns;

	if (histogram_quantile(HISTOGRAM_LATENCY, &counts->latencies, 0.99, &ns) < 0)
		return no_time();
	return humanize_duration((uint64_t)ns);
}
