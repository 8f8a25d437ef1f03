/* SPDX-License-Identifier: MIT */
/* Several timelines, or two moments of one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"
#include "model/timeline.h"

/* A sum that is being made, with all of its buckets. */
struct merging {
	struct timeline shape; /* without series */
	uint64_t before[TIMELINE_SERIES];
	bool is_unknown[TIMELINE_SERIES];
	uint64_t buckets[TIMELINE_SERIES][TIMELINE_BUCKETS_MAX];
};

/* The first and the last moment of all, and the longest interval. */
static struct timeline span(const struct timeline *const *timelines, size_t count)
{
	struct timeline shape = *timelines[0];

	for (size_t i = 1; i < count; i++) {
		shape.start_ns = MIN(shape.start_ns, timelines[i]->start_ns);
		shape.last_ns = MAX(shape.last_ns, timelines[i]->last_ns);
		shape.shift = MAX(shape.shift, timelines[i]->shift);
	}
	shape.series = NULL;
	shape.room = 0;
	shape.last_boot_ns = 0; /* each node's own */
	return shape;
}

static size_t buckets_of(const struct timeline *shape)
{
	uint64_t interval_ns = timeline_interval_ns(shape);

	return shape->last_ns > shape->start_ns
		       ? (shape->last_ns - 1 - shape->start_ns) / interval_ns + 1
		       : 1;
}

/* All of them have to fit, with edges where they belong. */
static void fit(struct timeline *shape)
{
	uint64_t start_ns = shape->start_ns;

	for (;; shape->shift++) {
		shape->start_ns = start_ns - start_ns % timeline_interval_ns(shape);
		if (buckets_of(shape) <= TIMELINE_BUCKETS_MAX)
			return;
	}
}

/* Numbers from outside may be as large as any. */
static uint64_t add_known(uint64_t sum, uint64_t bucket)
{
	return bucket == TIMELINE_UNKNOWN ? sum : MIN(sum + bucket, PACKED_MAX);
}

/* What two ranks' buckets are together: CPUs of the one are no warmer by those of the other. */
static uint64_t join(size_t series, uint64_t sum, uint64_t bucket)
{
	const bool is_gauge = metric_get(timeline_metric(series))->kind == KIND_GAUGE;

	if (sum == TIMELINE_UNKNOWN || bucket == TIMELINE_UNKNOWN)
		return sum == TIMELINE_UNKNOWN ? bucket : sum;
	return is_gauge && timeline_is_of_cpus(series) ? MAX(sum, bucket) : add_known(sum, bucket);
}

static void add_series(struct merging *m, const struct timeline *t, size_t series, size_t offset)
{
	uint64_t buckets[TIMELINE_BUCKETS_MAX];
	size_t count = timeline_get(t, series, buckets);

	m->before[series] = MIN(m->before[series] + timeline_before(t, series), PACKED_MAX);
	m->is_unknown[series] |= !timeline_knows(t, series);
	for (size_t i = 0; i < count; i++) {
		uint64_t *to = &m->buckets[series][offset + i];

		*to = join(series, *to, buckets[i]);
	}
}

static int add_timeline(struct merging *m, const struct timeline *from)
{
	_cleanup_(timeline_clear) struct timeline t = {};
	int r = timeline_copy(&t, from);

	while (r == 0 && t.shift < m->shape.shift)
		r = timeline_double(&t);
	for (size_t i = 0; r == 0 && i < TIMELINE_SERIES; i++)
		add_series(m, &t, i,
			   (t.start_ns - m->shape.start_ns) / timeline_interval_ns(&m->shape));
	return r;
}

static int make(const struct merging *m, struct timeline *ret)
{
	struct timeline t = m->shape;
	int r = timeline_allocate(&t);

	for (size_t i = 0; r == 0 && i < TIMELINE_SERIES; i++) {
		if (m->is_unknown[i])
			continue;
		t.series[i].before = m->before[i];
		r = timeline_put(&t, i, m->buckets[i], timeline_count(&t));
	}
	if (r == 0)
		*ret = t;
	return r;
}

int timeline_merge(const struct timeline *const *timelines, size_t count, struct timeline *ret)
{
	_cleanup_free_ struct merging *m = NULL;
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		if (!timeline_count(timelines[i]))
			return 0;
	}
	if (count < 2)
		return count ? timeline_copy(ret, timelines[0]) : 0;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	memset(m->buckets, 0xff, sizeof(m->buckets)); /* TIMELINE_UNKNOWN */
	m->shape = span(timelines, count);
	fit(&m->shape);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_timeline(m, timelines[i]);
	return r < 0 ? r : make(m, ret);
}

/* What is left of a counter when its first @taken are gone. */
static void take_first(uint64_t *buckets, size_t count, uint64_t taken)
{
	for (size_t i = 0; taken && i < count; i++) {
		uint64_t part = buckets[i] == TIMELINE_UNKNOWN ? 0 : MIN(buckets[i], taken);

		if (part)
			buckets[i] -= part;
		taken -= part;
	}
}

/* What is before @cut goes into the first bucket behind it. */
static void cut_off(size_t series, uint64_t *buckets, size_t cut)
{
	uint64_t sum = 0;

	if (metric_get(timeline_metric(series))->kind == KIND_GAUGE)
		return;
	for (size_t i = 0; i < cut; i++)
		sum = add_known(sum, buckets[i]);
	if (sum)
		buckets[cut] = add_known(sum, buckets[cut]);
}

static int subtract_series(const struct timeline *later, const struct timeline *earlier,
			   size_t series, size_t cut, struct timeline *ret)
{
	bool is_counter = metric_get(timeline_metric(series))->kind != KIND_GAUGE;
	uint64_t buckets[TIMELINE_BUCKETS_MAX], taken = timeline_sum(earlier, series), before;
	size_t count = timeline_get(later, series, buckets);

	if (!timeline_knows(later, series) || !timeline_knows(earlier, series))
		return 0;
	if (is_counter && timeline_sum(later, series) < taken)
		return 0; /* it fell: that cannot be said */
	before = timeline_before(later, series);
	if (is_counter)
		take_first(buckets, count, taken - MIN(taken, before));
	ret->series[series].before = before - MIN(taken, before);
	cut_off(series, buckets, cut);
	return timeline_put(ret, series, buckets + cut, count - cut);
}

int timeline_subtract(struct timeline *later, const struct timeline *earlier)
{
	size_t count = timeline_count(later), cut = 0;
	struct timeline t = *later;
	uint64_t from_ns;
	int r = 0;

	t.series = NULL;
	t.room = 0;
	if (count && timeline_count(earlier)) {
		from_ns = earlier->start_ns +
			  (timeline_count(earlier) - 1) * timeline_interval_ns(earlier);
		if (from_ns > t.start_ns)
			cut = MIN((from_ns - t.start_ns) / timeline_interval_ns(&t), count - 1);
		t.start_ns += cut * timeline_interval_ns(&t);
		r = timeline_allocate(&t);
		for (size_t i = 0; r == 0 && i < TIMELINE_SERIES; i++)
			r = subtract_series(later, earlier, i, cut, &t);
	} else {
		t = (struct timeline){};
	}
	timeline_clear(later);
	*later = t; /* empty after a failure */
	return r;
}
