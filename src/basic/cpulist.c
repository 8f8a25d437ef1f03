/* SPDX-License-Identifier: MIT */
#include "basic/cpulist.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"
#include "basic/parse.h"

bool cpulist_contains(const struct cpulist *list, unsigned int cpu)
{
	return cpu < CPULIST_MAX && list->bits[cpu / 64] >> cpu % 64 & 1;
}

void cpulist_set(struct cpulist *list, unsigned int cpu)
{
	assert(cpu < CPULIST_MAX);
	list->bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

/* One "8" or "0-3" at *@text. */
static int parse_range(const char **text, struct cpulist *list)
{
	uint64_t first, last;
	int r = parse_leading_u64(text, &first);

	if (r < 0)
		return r;
	last = first;
	if (**text == '-') {
		(*text)++;
		r = parse_leading_u64(text, &last);
		if (r < 0)
			return r;
	}
	if (last < first)
		return -EINVAL;
	if (last >= CPULIST_MAX)
		return -ERANGE;
	for (uint64_t cpu = first; cpu <= last; cpu++)
		cpulist_set(list, (unsigned int)cpu);
	return 0;
}

int cpulist_parse(const char *text, struct cpulist *ret)
{
	struct cpulist list = {};

	while (*text && *text != '\n') {
		int r = parse_range(&text, &list);

		if (r < 0)
			return r;
		if (*text == ',')
			text++;
		else if (*text && *text != '\n')
			return -EINVAL;
	}
	*ret = list;
	return 0;
}

unsigned int cpulist_count(const struct cpulist *list)
{
	unsigned int count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(list->bits); i++)
		count += (unsigned int)__builtin_popcountll(list->bits[i]);
	return count;
}

void cpulist_add(struct cpulist *to, const struct cpulist *from)
{
	for (size_t i = 0; i < ARRAY_SIZE(to->bits); i++)
		to->bits[i] |= from->bits[i];
}

char *cpulist_format(const struct cpulist *list)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const char *comma = "";

	if (!out)
		return NULL;
	for (unsigned int first = 0; first < CPULIST_MAX; first++) {
		unsigned int last = first;

		if (!list->bits[first / 64])
			first |= 63; /* most of a list is empty */
		if (!cpulist_contains(list, first))
			continue;
		while (cpulist_contains(list, last + 1))
			last++;
		fprintf(out, last > first ? "%s%u-%u" : "%s%u", comma, first, last);
		comma = ",";
		first = last;
	}
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
