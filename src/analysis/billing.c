/* SPDX-License-Identifier: MIT */
#include "analysis/billing.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "basic/macro.h"
#include "basic/text.h"

#define MIB 1048576.0
#define WEIGHT_MAX 1e9

/* What Slurm can bill, by the type before "/". */
static const struct {
	const char *name;
	bool is_measured, has_suffix;
	enum resource resource;
	double unit; /* of the number as written */
} types[] = {
	{ "CPU", true, false, RESOURCE_CORES, 1 },
	{ "Mem", true, true, RESOURCE_MEMORY, MIB },
	{ .name = "BB" },
	{ .name = "Billing" },
	{ .name = "Energy" },
	{ .name = "FS" },
	{ .name = "GRES" },
	{ .name = "IC" },
	{ .name = "License" },
	{ .name = "Node" },
	{ .name = "Pages" },
	{ .name = "VMem" },
};

/* Its index; ARRAY_SIZE(types): unknown. */
static size_t find_type(const char *name)
{
	size_t length = strcspn(name, "/"), i = 0;

	while (i < ARRAY_SIZE(types) &&
	       (strlen(types[i].name) != length || strncasecmp(types[i].name, name, length) != 0))
		i++;
	return i;
}

/* Digits with a point; *end is behind them. */
static int read_number(const char *text, double *ret, const char **end)
{
	size_t length = strspn(text, "0123456789.");
	char digits[32];
	char *rest;

	if (!length || length >= sizeof(digits) || !strpbrk(text, "0123456789"))
		return -EINVAL;
	memcpy(digits, text, length);
	digits[length] = '\0';
	*ret = strtod(digits, &rest);
	*end = text + length;
	return *rest || rest == digits || *ret > WEIGHT_MAX ? -EINVAL : 0;
}

/* "G": the unit is a thousand times (1024) the MiB.  0: it is none. */
static double unit_of(char suffix)
{
	static const char suffixes[] = "KMGTP";
	const char *at = suffix ? strchr(suffixes, toupper((unsigned char)suffix)) : NULL;
	double unit = 1024;

	if (!at)
		return 0;
	for (const char *p = suffixes; p < at; p++)
		unit *= 1024;
	return unit;
}

static int leave_out(struct billing *b, const char *name, struct error *err)
{
	if (b->left_out_count == BILLING_LEFT_OUT_MAX)
		return error_set(err, -EINVAL, "there are more than %d that are not measured",
				 BILLING_LEFT_OUT_MAX);
	b->left_out[b->left_out_count] = strdup(name);
	return b->left_out[b->left_out_count++] ? 0 : -ENOMEM;
}

static int take(struct billing *b, const char *name, const char *value, struct error *err)
{
	size_t type = find_type(name);
	double number = 0, unit;
	const char *end = NULL;

	if (type == ARRAY_SIZE(types))
		return error_set(err, -EINVAL,
				 "there is no '%.32s' to bill; there are CPU, Mem, and others of "
				 "Slurm such as GRES/gpu",
				 name);
	if (read_number(value, &number, &end) < 0)
		return error_set(err, -EINVAL,
				 "%.32s: a number from 0 on must stand here, and not '%.32s'", name,
				 value);
	unit = types[type].is_measured ? types[type].unit : 1;
	if (*end && (types[type].has_suffix || !types[type].is_measured)) {
		unit = unit_of(*end);
		end += unit > 0;
	}
	if (*end)
		return error_set(err, -EINVAL, "%.32s: '%.32s' ends in no unit that it can have",
				 name, value);
	if (!types[type].is_measured)
		return number > 0 ? leave_out(b, name, err) : 0;
	if (b->weights[types[type].resource] > 0)
		return error_set(err, -EINVAL, "%.32s is given twice", name);
	b->weights[types[type].resource] = number / unit;
	return 0;
}

static int take_all(struct billing *b, char *text, struct error *err)
{
	char *rest = text, *part;
	int r = 0;

	while (r == 0 && (part = strsep(&rest, ",")) != NULL) {
		char *value = strchr(part, '=');

		if (!value)
			return error_set(err, -EINVAL,
					 "NAME=WEIGHT must stand here, such as "
					 "'CPU=1.0,Mem=0.25G', and not '%.32s'",
					 part);
		*value = '\0';
		r = take(b, part, value + 1, err);
	}
	if (r == 0 && b->weights[RESOURCE_CORES] <= 0 && b->weights[RESOURCE_MEMORY] <= 0)
		return error_set(err, -EINVAL, "neither CPU nor Mem has a weight");
	return r;
}

int billing_parse(const char *text, struct billing *ret, struct error *err)
{
	_cleanup_free_ char *copy = NULL;
	int r;

	if (strlen(text) > BILLING_TEXT_MAX)
		return error_set(err, -EINVAL, "this is longer than %d bytes", BILLING_TEXT_MAX);
	copy = strdup(text);
	ret->text = strdup(text);
	r = copy && ret->text ? take_all(ret, copy, err) : -ENOMEM;
	if (r < 0)
		billing_clear(ret);
	return r;
}

void billing_clear(struct billing *b)
{
	free(b->partition);
	free(b->text);
	for (size_t i = 0; i < b->left_out_count; i++)
		free(b->left_out[i]);
	*b = (struct billing){};
}

static struct billing *find(const struct billings *billings, const char *partition)
{
	for (size_t i = 0; i < billings->count; i++) {
		if (strcmp(billings->items[i].partition, partition) == 0)
			return &billings->items[i];
	}
	return NULL;
}

struct billing *billings_get(struct billings *billings, const char *partition)
{
	struct billing *found = find(billings, partition), *larger;

	if (found)
		return found;
	larger = reallocarray(billings->items, billings->count + 1, sizeof(*larger));
	if (!larger)
		return NULL;
	billings->items = larger;
	larger[billings->count] = (struct billing){ .partition = strdup(partition) };
	return larger[billings->count].partition ? &larger[billings->count++] : NULL;
}

const struct billing *billings_find(const struct billings *billings, const char *partition)
{
	const struct billing *found = partition ? find(billings, partition) : NULL;

	return found ? found : find(billings, BILLING_OTHERS);
}

void billings_clear(struct billings *billings)
{
	for (size_t i = 0; i < billings->count; i++)
		billing_clear(&billings->items[i]);
	free(billings->items);
	*billings = (struct billings){};
}
