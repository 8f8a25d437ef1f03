/* SPDX-License-Identifier: MIT */
#include "model/timeline.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"

#define NS_PER_SECOND UINT64_C(1000000000)

static const enum metric_id metrics[] = {
	METRIC_CPU_USER,
	METRIC_CPU_SYSTEM,
	METRIC_CPU_RUN_QUEUE,
	METRIC_CPU_STOLEN,
	METRIC_CPU_VOLUNTARY_SWITCHES,
	METRIC_CPU_INVOLUNTARY_SWITCHES,
	METRIC_CPU_THROTTLED,
	METRIC_BLOCKED_FILE_READ,
	METRIC_BLOCKED_FILE_WRITE,
	METRIC_BLOCKED_FILE_META,
	METRIC_BLOCKED_FILE_ASYNC,
	METRIC_BLOCKED_SYNC,
	METRIC_BLOCKED_PAGE_FAULT,
	METRIC_BLOCKED_NETWORK,
	METRIC_BLOCKED_LOCK,
	METRIC_BLOCKED_PIPE,
	METRIC_BLOCKED_POLL,
	METRIC_BLOCKED_SLEEP,
	METRIC_BLOCKED_CHILDREN,
	METRIC_BLOCKED_THREADS,
	METRIC_BLOCKED_STOPPED,
	METRIC_BLOCKED_OTHER,
	METRIC_MEMORY_USAGE,
	METRIC_MEMORY_MINOR_FAULTS,
	METRIC_MEMORY_MAJOR_FAULTS,
	METRIC_TASKS_LIVE,
	METRIC_READ_BYTES,
	METRIC_READ_CALLS,
	METRIC_READ_SECONDS,
	METRIC_WRITE_BYTES,
	METRIC_WRITE_CALLS,
	METRIC_WRITE_SECONDS,
	METRIC_META_CALLS,
	METRIC_META_SECONDS,
	METRIC_NETWORK_SENT_BYTES,
	METRIC_NETWORK_RECEIVED_BYTES,
	METRIC_ENERGY,
	METRIC_CPU_INSTRUCTIONS,
	METRIC_JOB_FREQUENCY_MEAN, /* FEW_SERIES stand before it */
	METRIC_JOB_TEMPERATURE,
	METRIC_JOB_THROTTLES,
};
#define FEW_SERIES (TIMELINE_SERIES - 3)
static_assert(ARRAY_SIZE(metrics) == TIMELINE_SERIES, "the header says how many");

enum metric_id timeline_metric(size_t series)
{
	assert(series < TIMELINE_SERIES);
	return metrics[series];
}

size_t timeline_series_of(enum metric_id id)
{
	size_t i = 0;

	while (i < TIMELINE_SERIES && metrics[i] != id)
		i++;
	return i;
}

bool timeline_is_of_cpus(size_t series)
{
	enum metric_scope scope = metric_get(timeline_metric(series))->scope;

	return scope == SCOPE_JOB_NOW || scope == SCOPE_JOB_COURSE;
}

size_t timeline_find(const char *section, const char *key)
{
	size_t i = 0;

	while (i < TIMELINE_SERIES && (strcmp(metric_get(metrics[i])->section, section) != 0 ||
				       strcmp(metric_get(metrics[i])->key, key) != 0))
		i++;
	return i;
}

void timeline_values(const struct reading *reading, const struct thermal_now *now,
		     struct value ret[TIMELINE_SERIES])
{
	for (size_t i = 0; i < TIMELINE_SERIES; i++) {
		uint64_t total = 0;

		if (metrics[i] < METRIC_JOB_COUNT)
			ret[i] = reading->values[metrics[i]];
		else if (timeline_is_of_cpus(i))
			ret[i] = now ? thermal_now_value(now, metrics[i]) : (struct value){};
		else if (reading_total(reading, metrics[i], &total))
			ret[i] = (struct value){ MIN(total, VALUE_MAX), true };
		else
			ret[i] = (struct value){};
	}
}

static bool is_gauge(size_t series)
{
	return metric_get(metrics[series])->kind == KIND_GAUGE;
}

/* Far above what any counter reaches; but numbers come from outside, too. */
static uint64_t add_capped(uint64_t a, uint64_t b)
{
	return MIN(a + b, PACKED_MAX); /* both are at most that */
}

/* What two neighbours, or the parts of one bucket, are together. */
static uint64_t join(size_t series, uint64_t a, uint64_t b)
{
	if (a == TIMELINE_UNKNOWN || b == TIMELINE_UNKNOWN)
		return a == TIMELINE_UNKNOWN ? b : a;
	return is_gauge(series) ? MAX(a, b) : add_capped(a, b);
}

/* ---- times ---- */

uint64_t timeline_interval_ns(const struct timeline *t)
{
	return NS_PER_SECOND << t->shift;
}

/* The bucket that begins at this moment, or has begun before. */
static size_t bucket_from(const struct timeline *t, uint64_t ns)
{
	return ns > t->start_ns ? (ns - t->start_ns) / timeline_interval_ns(t) : 0;
}

/* The bucket that ends at this moment, or later. */
static size_t bucket_to(const struct timeline *t, uint64_t ns)
{
	return ns > t->start_ns ? bucket_from(t, ns - 1) : 0;
}

size_t timeline_count(const struct timeline *t)
{
	return t->series ? bucket_to(t, t->last_ns) + 1 : 0;
}

/* ---- making and unmaking ---- */

/* What is beyond its room was never known. */
static const struct timeline_series *look(const struct timeline *t, size_t series)
{
	static const struct timeline_series never = { .open = TIMELINE_UNKNOWN };

	return series < t->room ? &t->series[series] : &never;
}

static int make_series(struct timeline *t, size_t room)
{
	struct timeline_series *series;

	if (room <= t->room)
		return 0;
	series = reallocarray(t->series, room, sizeof(*series));
	if (!series)
		return -ENOMEM;
	t->series = series;
	for (; t->room < room; t->room++)
		t->series[t->room] = (struct timeline_series){ .open = TIMELINE_UNKNOWN };
	return 0;
}

/* A series that is known now may be beyond the room. */
static int reach_series(struct timeline *t, size_t series)
{
	return series < t->room ? 0 : make_series(t, TIMELINE_SERIES);
}

int timeline_allocate(struct timeline *t)
{
	return make_series(t, TIMELINE_SERIES);
}

static int begin(struct timeline *t, uint64_t real_ns, uint64_t boot_ns, bool is_from_start)
{
	real_ns = MIN(real_ns, PACKED_MAX);
	*t = (struct timeline){
		.start_ns = real_ns - real_ns % NS_PER_SECOND,
		.last_ns = real_ns,
		.last_boot_ns = boot_ns,
		.is_from_start = is_from_start,
	};
	return make_series(t, FEW_SERIES);
}

int timeline_begin(struct timeline *t, uint64_t real_ns, uint64_t boot_ns)
{
	return begin(t, real_ns, boot_ns, true);
}

void timeline_clear(struct timeline *t)
{
	for (size_t i = 0; i < t->room; i++)
		packed_clear(&t->series[i].closed);
	free(t->series);
	*t = (struct timeline){};
}

int timeline_copy(struct timeline *to, const struct timeline *from)
{
	struct timeline copy = *from;
	int r;

	copy.series = NULL;
	copy.room = 0;
	r = make_series(&copy, from->room);
	for (size_t i = 0; r == 0 && i < from->room; i++) {
		copy.series[i] = from->series[i];
		copy.series[i].closed = (struct packed){};
		r = packed_copy(&copy.series[i].closed, &from->series[i].closed);
	}
	if (r < 0) {
		timeline_clear(&copy);
		return r;
	}
	*to = copy;
	return 0;
}

/* ---- one series ---- */

/* What buckets hold in which the series does not change. */
static uint64_t idle_of(const struct timeline *t, size_t series)
{
	const struct timeline_series *s = look(t, series);

	if (!s->is_known)
		return TIMELINE_UNKNOWN;
	return is_gauge(series) ? s->now : 0;
}

/* Close buckets until @bucket is the open one. */
static int advance(struct timeline *t, size_t series, size_t bucket)
{
	struct timeline_series *s = &t->series[series];
	uint64_t idle = idle_of(t, series);
	int r;

	if (bucket <= s->closed.count)
		return 0;
	r = packed_append(&s->closed, s->open, 1);
	if (r == 0)
		r = packed_append(&s->closed, idle, (uint32_t)(bucket - s->closed.count));
	if (r == 0)
		s->open = idle;
	return r;
}

/* The buckets that it has up to the open one; returns how many. */
static size_t unpack(const struct timeline_series *s, uint64_t ret[TIMELINE_BUCKETS_MAX + 1])
{
	packed_unpack(&s->closed, ret);
	ret[s->closed.count] = s->open;
	return s->closed.count + 1;
}

/* The way back; the last of the @count is the open one. */
static int pack(struct timeline_series *s, const uint64_t *buckets, size_t count)
{
	int r = 0;

	packed_clear(&s->closed);
	for (size_t i = 0; r == 0 && i + 1 < count; i++)
		r = packed_append(&s->closed, buckets[i], 1);
	s->open = buckets[count - 1];
	return r;
}

/* @gain within the part of it that had come until @ns. */
static uint64_t part_of(uint64_t gain, uint64_t from_ns, uint64_t to_ns, uint64_t ns)
{
	if (ns >= to_ns || from_ns >= to_ns)
		return gain;
	return (uint64_t)((unsigned __int128)gain * (ns - from_ns) / (to_ns - from_ns));
}

/* Divide what came between two moments over the buckets in between.  Each gets what had come until
 * its end, rounded down, less what those before it have. */
static int spread(struct timeline *t, size_t series, uint64_t gain, uint64_t from_ns,
		  uint64_t to_ns)
{
	struct timeline_series *s = &t->series[series];
	size_t last = bucket_to(t, to_ns), first = MIN(bucket_from(t, from_ns), last);
	uint64_t given = 0;

	for (size_t bucket = first; bucket <= last; bucket++) {
		uint64_t end_ns = t->start_ns + (bucket + 1) * timeline_interval_ns(t);
		uint64_t until = part_of(gain, from_ns, to_ns, end_ns);
		int r = advance(t, series, bucket);

		if (r < 0)
			return r;
		s->open = join(series, s->open, until - given);
		given = until;
	}
	return 0;
}

/* The last @loss of what was added. */
static int take_back(struct timeline *t, size_t series, uint64_t loss)
{
	struct timeline_series *s = &t->series[series];
	uint64_t buckets[TIMELINE_BUCKETS_MAX + 1];
	size_t count = unpack(s, buckets);

	for (size_t i = count; loss && i-- > 0;) {
		uint64_t part = buckets[i] == TIMELINE_UNKNOWN ? 0 : MIN(buckets[i], loss);

		if (part)
			buckets[i] -= part;
		loss -= part;
	}
	s->before -= MIN(s->before, loss);
	return pack(s, buckets, count);
}

/* ---- a reading ---- */

static int feed_counter(struct timeline *t, size_t series, uint64_t now, uint64_t to_ns)
{
	struct timeline_series *s = &t->series[series];
	int r;

	if (!s->was_known && !t->is_from_start) {
		s->before = s->now = now;
		r = advance(t, series, bucket_to(t, to_ns));
		s->open = 0;
	} else if (now < s->now) {
		r = take_back(t, series, s->now - now);
	} else {
		r = spread(t, series, now - s->now, t->last_ns, to_ns);
	}
	s->now = now;
	s->is_known = s->was_known = true;
	return r;
}

static int feed_gauge(struct timeline *t, size_t series, uint64_t now, uint64_t to_ns)
{
	struct timeline_series *s = &t->series[series];
	int r = advance(t, series, bucket_to(t, to_ns));

	s->open = join(series, s->open, now);
	s->now = now;
	s->is_known = s->was_known = true;
	return r;
}

/* From the last reading on nobody knows. */
static int lose(struct timeline *t, size_t series)
{
	int r = advance(t, series, bucket_to(t, t->last_ns));

	t->series[series].is_known = false;
	return r;
}

static int feed_series(struct timeline *t, size_t series, const struct value *value, uint64_t to_ns)
{
	uint64_t now = MIN(value->number, PACKED_MAX);

	if (value->is_known == look(t, series)->is_known &&
	    (!value->is_known || now == look(t, series)->now))
		return 0; /* what stands still costs nothing */
	if (reach_series(t, series) < 0)
		return -ENOMEM;
	t->changes += !timeline_is_of_cpus(series);
	if (!value->is_known)
		return lose(t, series);
	return is_gauge(series) ? feed_gauge(t, series, now, to_ns)
				: feed_counter(t, series, now, to_ns);
}

static int make_room(struct timeline *t, uint64_t to_ns)
{
	int r = 0;

	while (r == 0 && bucket_to(t, to_ns) >= TIMELINE_BUCKETS_MAX)
		r = timeline_double(t);
	return r;
}

int timeline_feed(struct timeline *t, uint64_t real_ns, uint64_t boot_ns,
		  const struct value values[TIMELINE_SERIES])
{
	int r = t->series ? 0 : begin(t, real_ns, boot_ns, false);
	uint64_t passed = boot_ns > t->last_boot_ns ? boot_ns - t->last_boot_ns : 0, to_ns;

	to_ns = t->last_ns + MIN(passed, PACKED_MAX - t->last_ns);
	if (r == 0)
		r = make_room(t, to_ns);
	for (size_t i = 0; r == 0 && i < TIMELINE_SERIES; i++)
		r = feed_series(t, i, &values[i], to_ns);
	if (r < 0) {
		timeline_clear(t);
		return r;
	}
	t->last_ns = to_ns;
	t->last_boot_ns += passed;
	return 0;
}

int timeline_settle(struct timeline *t, const struct value values[TIMELINE_SERIES])
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->room; i++) {
		if (values[i].is_known && t->series[i].was_known && !is_gauge(i))
			r = feed_counter(t, i, MIN(values[i].number, PACKED_MAX), t->last_ns);
	}
	if (r < 0)
		timeline_clear(t);
	return r;
}

/* ---- fewer buckets ---- */

static int double_series(struct timeline *t, size_t series, size_t offset)
{
	struct timeline_series *s = &t->series[series];
	uint64_t buckets[TIMELINE_BUCKETS_MAX + 1], fewer[TIMELINE_BUCKETS_MAX + 1];
	size_t count = unpack(s, buckets);

	if (!s->was_known)
		return 0;
	for (size_t i = 0; i < count; i++)
		fewer[i] = TIMELINE_UNKNOWN;
	for (size_t i = 0; i < count; i++) {
		size_t to = (i + offset) / 2;

		fewer[to] = join(series, fewer[to], buckets[i]);
	}
	return pack(s, fewer, (count - 1 + offset) / 2 + 1);
}

int timeline_double(struct timeline *t)
{
	/* the first stays alone where the new edges want it */
	size_t offset = t->start_ns / timeline_interval_ns(t) % 2;
	int r = 0;

	assert(t->shift < TIMELINE_SHIFT_MAX);
	for (size_t i = 0; r == 0 && i < t->room; i++)
		r = double_series(t, i, offset);
	t->start_ns -= offset * timeline_interval_ns(t);
	t->shift++;
	return r;
}

/* ---- looking at it ---- */

bool timeline_knows(const struct timeline *t, size_t series)
{
	return look(t, series)->was_known;
}

void timeline_forget(struct timeline *t, size_t series)
{
	if (series >= t->room)
		return;
	packed_clear(&t->series[series].closed);
	t->series[series] = (struct timeline_series){ .open = TIMELINE_UNKNOWN };
}

uint64_t timeline_before(const struct timeline *t, size_t series)
{
	return look(t, series)->before;
}

bool timeline_is_known(const struct timeline *t)
{
	for (size_t i = 0; i < TIMELINE_SERIES; i++) {
		if (timeline_knows(t, i))
			return true;
	}
	return false;
}

size_t timeline_get(const struct timeline *t, size_t series, uint64_t ret[TIMELINE_BUCKETS_MAX])
{
	size_t count = timeline_count(t);
	uint64_t buckets[TIMELINE_BUCKETS_MAX + 1];

	if (!count)
		return 0;
	for (size_t i = unpack(look(t, series), buckets); i < count; i++)
		buckets[i] = idle_of(t, series);
	memcpy(ret, buckets, count * sizeof(*ret));
	return count;
}

uint64_t timeline_sum(const struct timeline *t, size_t series)
{
	uint64_t buckets[TIMELINE_BUCKETS_MAX], sum = timeline_before(t, series);
	size_t count = timeline_get(t, series, buckets);

	for (size_t i = 0; i < count; i++)
		sum = buckets[i] == TIMELINE_UNKNOWN ? sum : add_capped(sum, buckets[i]);
	return sum;
}

int timeline_put(struct timeline *t, size_t series, const uint64_t *buckets, size_t count)
{
	int r = reach_series(t, series);
	struct timeline_series *s;

	assert(count == timeline_count(t));
	if (r == 0) {
		s = &t->series[series];
		r = pack(s, buckets, count);
		s->was_known = true;
		s->is_known = buckets[count - 1] != TIMELINE_UNKNOWN;
		s->now = is_gauge(series) ? buckets[count - 1] : timeline_sum(t, series);
	}
	if (r < 0)
		timeline_clear(t);
	return r;
}
