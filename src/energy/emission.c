/* SPDX-License-Identifier: MIT */
#include "energy/emission.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "basic/array.h"
#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/file.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "basic/timestamp.h"

#define FILE_MAX (16u << 20)
#define GRAMS_MAX (EMISSION_MILLIGRAMS_MAX / 1000)
#define NS_PER_S UINT64_C(1000000000)
/* uJ x mg/kWh x 1000 ug/mg / 3.6e12 uJ/kWh */
#define UJ_MG_PER_UG UINT64_C(3600000000)

#define SOURCE ",source"

const char *const emission_kinds[EMISSION_KINDS + 1] = {
	[EMISSION_AVERAGE_LIFECYCLE] = "average_lifecycle",
	[EMISSION_AVERAGE_DIRECT] = "average_direct",
	[EMISSION_MARGINAL] = "marginal",
	[EMISSION_FORECAST] = "forecast",
	[EMISSION_TARIFF] = "tariff",
};

/* In thousandths: parse_seconds() has it in billionths. */
int emission_parse_number(const char *text, uint64_t *ret)
{
	uint64_t billionths;

	if (parse_seconds(text, &billionths) < 0 || billionths > GRAMS_MAX * NS_PER_S)
		return -EINVAL;
	*ret = (billionths + 500000) / 1000000;
	return 0;
}

static int parse_line(char *line, bool has_source, struct emission_factor *ret,
		      const char **ret_wrong)
{
	const char *cells[5]; /* a sixth is the source */
	size_t count = 0, kind = 0;
	char *cell;

	while ((cell = strsep(&line, ",")))
		if (count++ < ARRAY_SIZE(cells))
			cells[count - 1] = cell;
	*ret_wrong = "it has not the columns " EMISSION_HEAD;
	if (count != ARRAY_SIZE(cells) + has_source)
		return -EINVAL;
	*ret_wrong = "the zone is no word of 1 to 31 characters";
	if (!*cells[0] || strlen(cells[0]) >= sizeof(ret->zone) || strpbrk(cells[0], "\"\\ "))
		return -EINVAL;
	memcpy(ret->zone, cells[0], strlen(cells[0]) + 1);
	while (kind < EMISSION_KINDS && strcmp(emission_kinds[kind], cells[1]) != 0)
		kind++;
	*ret_wrong = "the kind is none of average_lifecycle, average_direct, marginal, forecast "
		     "and tariff";
	if (kind == EMISSION_KINDS)
		return -EINVAL;
	ret->kind = (enum emission_kind)kind;
	*ret_wrong =
		"from and until are no times such as 2026-01-01T00:00:00Z, one after the other";
	if (timestamp_parse(cells[2], &ret->from_ns) < 0 ||
	    timestamp_parse(cells[3], &ret->until_ns) < 0 || ret->until_ns <= ret->from_ns)
		return -EINVAL;
	*ret_wrong = ret->kind == EMISSION_TARIFF ? "the price is no number from 0 to 100000"
						  : "the grams are no number from 0 to 100000";
	return emission_parse_number(cells[4], &ret->milligrams);
}

static int compare(const struct emission_factor *f, const char *zone, enum emission_kind kind,
		   uint64_t from_ns)
{
	int order = strcmp(f->zone, zone);

	if (order == 0)
		order = (f->kind > kind) - (f->kind < kind);
	return order ? order : (f->from_ns > from_ns) - (f->from_ns < from_ns);
}

/* The number of those that are not behind this. */
static size_t count_until(const struct emission_factors *factors, const char *zone,
			  enum emission_kind kind, uint64_t from_ns)
{
	size_t low = 0, high = factors->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&factors->items[middle], zone, kind, from_ns) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_series(const struct emission_factor *f, const char *zone, enum emission_kind kind)
{
	return f->kind == kind && strcmp(f->zone, zone) == 0;
}

/* struct emission_factor's "back" of the row @at, by that of the row before it. */
static size_t find_last_end(const struct emission_factors *table, size_t at)
{
	const struct emission_factor *f = &table->items[at];
	const struct emission_factor *before = at > 0 ? f - 1 : NULL;

	return before && is_series(before, f->zone, f->kind) &&
			       (before - before->back)->until_ns > f->until_ns
		       ? before->back + 1
		       : 0;
}

int emission_factors_add(struct emission_factors *to, const struct emission_factor *one)
{
	int r = array_reserve(&to->items, &to->room, to->count, sizeof(*to->items));
	size_t at = count_until(to, one->zone, one->kind, one->from_ns);

	if (r < 0)
		return r;
	memmove(to->items + at + 1, to->items + at, (to->count - at) * sizeof(*to->items));
	to->items[at] = *one;
	to->count++;
	for (size_t i = at; i < to->count; i++) {
		to->items[i].back = find_last_end(to, i);
		if (i > at && !to->items[i].back)
			break; /* so it was before, and those behind it go back to it at most */
	}
	return 0;
}

/* Equal ones stay in the order of their lines. */
static int compare_lines(const void *a, const void *b)
{
	const struct emission_factor *x = a, *y = b;
	int order = compare(x, y->zone, y->kind, y->from_ns);

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

int emission_factors_parse(char *text, const char *name, struct emission_factors *to,
			   struct error *err)
{
	bool has_head = false, has_source = false;
	size_t number = 0;
	char *line;

	while ((line = parse_next_line(&text))) {
		struct emission_factor one;
		const char *wrong;

		number++;
		if (!*line || *line == '#')
			continue;
		if (!has_head) {
			has_source = strcmp(line, EMISSION_HEAD SOURCE) == 0;
			if (!has_source && strcmp(line, EMISSION_HEAD) != 0)
				return error_set(err, -EINVAL,
						 "%s:%zu: the head is not " EMISSION_HEAD, name,
						 number);
			has_head = true;
			continue;
		}
		if (parse_line(line, has_source, &one, &wrong) < 0)
			return error_set(err, -EINVAL, "%s:%zu: %s", name, number, wrong);
		one.line = number;
		if (array_reserve(&to->items, &to->room, to->count, sizeof(*to->items)) < 0)
			return error_set_errno(err, ENOMEM, "cannot keep %s", name);
		to->items[to->count++] = one;
	}
	if (to->count)
		qsort(to->items, to->count, sizeof(*to->items), compare_lines);
	for (size_t i = 0; i < to->count; i++)
		to->items[i].back = find_last_end(to, i);
	return 0;
}

int emission_factors_read(const char *path, struct emission_factors *to, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	int r = file_read(AT_FDCWD, path, FILE_MAX, &text, NULL);

	return r < 0 ? error_set_errno(err, r, "cannot read the table '%s'", path)
		     : emission_factors_parse(text, path, to, err);
}

void emission_factors_clear(struct emission_factors *factors)
{
	free(factors->items);
	*factors = (struct emission_factors){};
}

const struct emission_factor *emission_factor_at(const struct emission_factors *factors,
						 const char *zone, enum emission_kind kind,
						 uint64_t when_ns)
{
	const size_t end = count_until(factors, zone, kind, when_ns);
	const struct emission_factor *last, *ended; /* that has begun, and that ends last */

	if (end == 0 || !is_series(&factors->items[end - 1], zone, kind))
		return NULL;
	last = &factors->items[end - 1];
	ended = last - last->back;
	if (when_ns < ended->until_ns) {
		while (when_ns >= last->until_ns)
			last--;
		return last;
	}
	if (end == factors->count || !is_series(&factors->items[end], zone, kind))
		return last;
	return when_ns - ended->until_ns <= ended->until_ns - ended->from_ns ? ended : NULL;
}

uint64_t emission_of(uint64_t microjoules, const struct emission_factor *factor)
{
	unsigned __int128 product = (unsigned __int128)microjoules * factor->milligrams;

	return (uint64_t)((product + UJ_MG_PER_UG / 2) / UJ_MG_PER_UG);
}

void emission_sum_add(struct emission_sum *sum, uint64_t microjoules, bool is_estimated,
		      const struct emission_factor *factor)
{
	sum->microjoules += microjoules;
	sum->estimated_microjoules += is_estimated ? microjoules : 0;
	sum->micrograms += factor ? emission_of(microjoules, factor) : 0;
	sum->unknown += !factor;
}

void emission_sum_price(struct emission_sum *sum, uint64_t microjoules, bool is_known,
			uint64_t thousandths)
{
	sum->priced += is_known ? (unsigned __int128)microjoules * thousandths : 0;
	sum->unpriced += !is_known;
}

/* a * b / by, to the nearest */
static uint64_t scale(uint64_t a, uint64_t b, uint64_t by)
{
	return (uint64_t)(((unsigned __int128)a * b + by / 2) / by);
}

uint64_t emission_overhead(const struct emission_sum *sum, const struct emission_terms *terms)
{
	return terms->pue > 1000 ? scale(sum->micrograms, terms->pue - 1000, 1000) : 0;
}

uint64_t emission_embodied(const struct emission_sum *sum, const struct emission_terms *terms)
{
	return scale(sum->core_ns, terms->embodied, 3600 * NS_PER_S / 1000);
}

uint64_t emission_cost(const struct emission_sum *sum, const struct emission_terms *terms)
{
	/* microjoules x thousandths x thousandths / microjoules of a kWh are millionths */
	const unsigned __int128 by = (unsigned __int128)UJ_MG_PER_UG * 1000;

	return (uint64_t)((sum->priced * (terms->pue ? terms->pue : 1000) + by / 2) / by);
}
