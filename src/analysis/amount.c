/* SPDX-License-Identifier: MIT */
#include "analysis/amount.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/document.h"
#include "model/reading.h"
#include "basic/macro.h"

#define WRITTEN_PLACES 6
#define WRITTEN_MAX 9e18
#define MIB 1048576.0
#define GIB (1024 * MIB)
#define MEMORY_STEP (64 * MIB)

struct amount amount_of(double number)
{
	return isfinite(number) ? (struct amount){ .number = number, .is_known = true }
				: (struct amount){};
}

struct amount amount_divide(struct amount a, struct amount b)
{
	return a.is_known && b.is_known ? amount_of(a.number / b.number) : (struct amount){};
}

struct amount amount_add(struct amount a, struct amount b)
{
	return a.is_known && b.is_known ? amount_of(a.number + b.number) : (struct amount){};
}

struct amount amount_multiply(struct amount a, struct amount b)
{
	return a.is_known && b.is_known ? amount_of(a.number * b.number) : (struct amount){};
}

struct amount amount_left(struct amount a, struct amount b)
{
	return a.is_known && b.is_known ? amount_of(fmax(0, a.number - b.number))
					: (struct amount){};
}

struct amount amount_of_metric(enum metric_id id, uint64_t stored)
{
	return amount_of((double)stored / pow(10, metric_unit_places(metric_get(id)->unit)));
}

struct amount amount_of_value(enum metric_id id, const struct value *v)
{
	return v->is_known ? amount_of_metric(id, v->number) : (struct amount){};
}

struct dimension dimension_of_metric(enum metric_id id)
{
	switch (metric_get(id)->unit) {
	case UNIT_BYTES:
		return DIMENSION_BYTES;
	case UNIT_SECONDS:
		return DIMENSION_SECONDS;
	default:
		return DIMENSION_NUMBER;
	}
}

bool dimension_is_plain(struct dimension d)
{
	return d.bytes == 0 && d.seconds == 0;
}

bool dimension_is_equal(struct dimension a, struct dimension b)
{
	return a.bytes == b.bytes && a.seconds == b.seconds;
}

static const char *name_of(struct dimension d)
{
	if (d.is_share)
		return "a share";
	if (dimension_is_plain(d))
		return "a number";
	if (d.bytes == 1 && d.seconds == 0)
		return "bytes";
	if (d.bytes == 0 && d.seconds == 1)
		return "seconds";
	if (d.bytes == 1 && d.seconds == -1)
		return "bytes per second";
	return d.bytes == 0 && d.seconds == -1 ? "per second" : NULL;
}

struct human dimension_name(struct dimension d)
{
	const char *name = name_of(d);
	struct human h;

	if (name)
		snprintf(h.text, sizeof(h.text), "%s", name);
	else
		snprintf(h.text, sizeof(h.text), "bytes^%d seconds^%d", d.bytes, d.seconds);
	return h;
}

static uint64_t whole(double number)
{
	return number >= 1.8e19 ? UINT64_MAX : (uint64_t)(number + 0.5);
}

static struct human format_positive(double number, struct dimension d)
{
	if (d.is_share)
		return humanize_percent(number);
	if (d.bytes == 1)
		return humanize_bytes(whole(number));
	if (d.bytes == 0 && d.seconds == 1)
		return humanize_duration(whole(number * 1e9));
	/* counts are whole, cores and ratios seldom are */
	return number == floor(number) || number >= 1000 ? humanize_count(whole(number))
							 : humanize_cores(whole(number * 1000));
}

struct human amount_format(struct amount a, struct dimension d)
{
	const bool is_rate = d.seconds == -1 && (d.bytes == 0 || d.bytes == 1);
	struct human h;

	if (!a.is_known || snprintf(h.text, sizeof(h.text), "%s%s%s", a.number < 0 ? "-" : "",
				    format_positive(fabs(a.number), d).text,
				    is_rate ? "/s" : "") >= (int)sizeof(h.text))
		return (struct human){ "-" };
	return h;
}

struct human amount_format_exact(struct amount a, struct dimension d)
{
	struct human h;

	if (!a.is_known || d.is_share || !dimension_is_plain(d) || a.number == floor(a.number))
		return amount_format(a, d);
	snprintf(h.text, sizeof(h.text), "%.6g", a.number);
	return h;
}

struct human amount_format_memory(struct amount bytes)
{
	struct human h;

	if (!bytes.is_known || bytes.number < 0 || bytes.number > 1e18)
		return (struct human){ "-" };
	if (bytes.number > GIB - MEMORY_STEP)
		snprintf(h.text, sizeof(h.text), "%.0fG", ceil(bytes.number / GIB));
	else
		snprintf(h.text, sizeof(h.text), "%.0fM",
			 fmax(1, ceil(bytes.number / MEMORY_STEP)) * (MEMORY_STEP / MIB));
	return h;
}

/* Too large for the decimals: a whole number. */
void amount_write(struct amount a, struct document *d)
{
	double scaled = a.number * pow(10, WRITTEN_PLACES);

	if (!a.is_known)
		document_null(d);
	else if (a.number != floor(a.number) && fabs(scaled) < WRITTEN_MAX)
		document_signed_decimal(d, llround(scaled), WRITTEN_PLACES);
	else if (a.number < 0)
		document_signed(d, -(int64_t)MIN(whole(-a.number), (uint64_t)INT64_MAX));
	else
		document_unsigned(d, whole(a.number));
}

void amount_put(struct document *d, const char *key, struct amount a)
{
	document_key(d, key);
	amount_write(a, d);
}
