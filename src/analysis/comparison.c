/* SPDX-License-Identifier: MIT */
#include "analysis/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "model/document.h"
#include "analysis/formula.h"
#include "basic/macro.h"
#include "model/record.h"

#define CHANGED_SHARE_MIN 0.05
#define WEIGHT_MAX 1e9 /* from or to nothing */

const struct first_number first_numbers[FIRST_NUMBERS] = {
	{ "elapsed_seconds", "elapsed" }, { "cpu_seconds", "CPU time" },
	{ "cores_busy", "cores used" },	  { "memory_peak_bytes", "memory peak" },
	{ "read_bytes", "read" },	  { "write_bytes", "written" },
};

static unsigned int place_of(const struct variable *variable)
{
	for (unsigned int i = 0; !variable->is_mount && i < FIRST_NUMBERS; i++) {
		if (strcmp(variable->name, first_numbers[i].variable) == 0)
			return i + 1;
	}
	return 0;
}

/* Smaller differences are noise. */
static double noise_of(struct dimension d)
{
	if (d.is_share)
		return 0.01;
	if (d.bytes == 1)
		return 1048576;
	if (d.seconds == 1)
		return 0.05;
	return d.seconds == -1 ? 10 : 0.1;
}

/* Calls are counted one by one, cores and ratios are not. */
static double noise_of_variable(const struct variable *variable)
{
	bool is_metric = variable->source != VARIABLE_FORMULA &&
			 variable->source != VARIABLE_LOST_SHARE &&
			 variable->source != VARIABLE_BLOCKED_SHARE;

	if (is_metric && dimension_is_plain(variable->dimension) &&
	    metric_get(variable->id)->unit == UNIT_COUNT)
		return 100;
	return noise_of(variable->dimension);
}

static double weight_of(double before, double after)
{
	if (before <= 0 || after <= 0)
		return WEIGHT_MAX;
	return fabs(log(after / before));
}

static bool is_large(const struct variable *variable, double before, double after)
{
	double difference = fabs(after - before);

	return difference >= noise_of_variable(variable) &&
	       difference >= CHANGED_SHARE_MIN * fmax(before, after);
}

static int add_change(struct comparison *c, const struct variable *variable, const char *mount,
		      struct amount before, struct amount after)
{
	struct change *larger;

	if (!before.is_known || !after.is_known || (before.number == 0 && after.number == 0))
		return 0;
	larger = reallocarray(c->items, c->count + 1, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	c->items = larger;
	larger[c->count++] =
		(struct change){ .variable = variable,
				 .mount = mount,
				 .before = before,
				 .after = after,
				 .place = place_of(variable),
				 .weight = weight_of(before.number, after.number),
				 .is_large = is_large(variable, before.number, after.number) };
	return 0;
}

/* All numbers of the job, or of the mount that both subjects are. */
static int add_all(struct comparison *c, const struct variables *variables,
		   const struct subject *before, const struct subject *after, const char *mount)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < variables->count; i++) {
		const struct variable *v = &variables->items[i];

		if (v->is_mount == !!before->row &&
		    (v->source != VARIABLE_FORMULA || !formula_get(v->formula)->is_of_record))
			r = add_change(c, v, mount, variable_get(v, before),
				       variable_get(v, after));
	}
	return r;
}

/* A mount that only one record has: known to be unused in the other. */
static const struct mount_row untouched = { .has_seconds = true, .has_histograms = true };

/* The rows of @of, each with that of the other record; of both only once. */
static int add_rows(struct comparison *c, const struct variables *variables,
		    const struct record *before, const struct record *after,
		    const struct record *of)
{
	const struct record *other = of == after ? before : after;
	bool before_lacks = !reading_paths_are_placed(&before->reading);
	bool after_lacks = !reading_paths_are_placed(&after->reading);
	int r = 0;

	for (size_t i = 0; r == 0 && i < of->reading.mount_count; i++) {
		const struct mount_row *row = &of->reading.mounts[i];
		const struct mount_row *found = reading_find_mount(&other->reading, row->kind,
								   row->mount, row->fstype);
		struct subject first = { .record = before, .lacks_places = before_lacks };
		struct subject second = { .record = after, .lacks_places = after_lacks };

		if (!row_is_of_files(row) || (of == before && found))
			continue;
		if (!found)
			found = &untouched;
		first.row = of == before ? row : found;
		second.row = of == before ? found : row;
		r = add_all(c, variables, &first, &second, row->mount);
	}
	return r;
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->place != y->place) /* 0 is behind all others */
		return x->place - 1 < y->place - 1 ? -1 : 1;
	if (x->is_large != y->is_large)
		return x->is_large ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	if (x->variable != y->variable)
		return x->variable < y->variable ? -1 : 1;
	return strcmp(x->mount ? x->mount : "", y->mount ? y->mount : "");
}

int comparison_make(const struct variables *variables, const struct record *before,
		    const struct record *after, struct comparison *ret)
{
	struct subject first = { .record = before }, second = { .record = after };
	_cleanup_(comparison_clear) struct comparison c = {};
	int r = add_all(&c, variables, &first, &second, NULL);

	if (r == 0 && before->reading.has_mounts && after->reading.has_mounts) {
		r = add_rows(&c, variables, before, after, after);
		if (r == 0)
			r = add_rows(&c, variables, before, after, before);
	}
	if (r < 0)
		return r;
	if (c.count)
		qsort(c.items, c.count, sizeof(*c.items), compare_changes);
	*ret = c;
	c = (struct comparison){};
	return 0;
}

void comparison_clear(struct comparison *c)
{
	free(c->items);
	*c = (struct comparison){};
}

struct amount change_difference(const struct change *change)
{
	return amount_of(change->after.number - change->before.number);
}

struct amount change_ratio(const struct change *change)
{
	return amount_of(change->after.number / change->before.number);
}

void comparison_format(const struct comparison *c, struct document *d)
{
	document_begin_list(d);
	for (size_t i = 0; i < c->count; i++) {
		const struct change *change = &c->items[i];

		document_begin_flat_map(d);
		document_put_string(d, "name", change->variable->name);
		if (change->mount)
			document_put_string(d, "mount", change->mount);
		amount_put(d, "before", change->before);
		amount_put(d, "after", change->after);
		amount_put(d, "difference", change_difference(change));
		amount_put(d, "ratio", change_ratio(change));
		document_put_boolean(d, "is_large", change->is_large);
		document_end_map(d);
	}
	document_end_list(d);
}
