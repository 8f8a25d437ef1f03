/* SPDX-License-Identifier: MIT */
#include "load/missing.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "load/hooks.h"
#include "model/record.h"

/* The hooks of one tier. */
struct listing {
	const struct hook *hooks;
	size_t count;
	const char *tier;
};

static bool is_off(const struct listing *l, size_t i)
{
	return !l->hooks[i].is_on && strcmp(l->hooks[i].tier, l->tier) == 0;
}

static bool gives_same(const struct listing *l, size_t i, size_t k)
{
	return strcmp(l->hooks[i].tier, l->hooks[k].tier) == 0 &&
	       strcmp(l->hooks[i].gives, l->hooks[k].gives) == 0;
}

static bool is_off_for_same(const struct listing *l, size_t i, size_t k)
{
	return is_off(l, k) && strcmp(l->hooks[i].why, l->hooks[k].why) == 0;
}

static bool is_reason_told(const struct listing *l, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (is_off_for_same(l, i, k))
			return true;
	}
	return false;
}

static bool is_gift_told(const struct listing *l, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (is_off_for_same(l, i, k) && gives_same(l, i, k))
			return true;
	}
	return false;
}

static bool is_given_in_part(const struct listing *l, size_t i)
{
	for (size_t k = 0; k < l->count; k++) {
		if (l->hooks[k].is_on && gives_same(l, i, k))
			return true;
	}
	return false;
}

static void tell_gift(const struct listing *l, size_t i, FILE *text)
{
	const char *between = " (";

	fputs(l->hooks[i].gives, text);
	if (!is_given_in_part(l, i))
		return;
	for (size_t k = i; k < l->count; k++) {
		if (!is_off_for_same(l, i, k) || !gives_same(l, i, k))
			continue;
		fprintf(text, "%s%s", between, strchr(l->hooks[k].attach, '/') + 1);
		between = ", ";
	}
	fputc(')', text);
}

/* Of all that is off for the reason of hook @i, which is the first. */
static int tell_reason(const struct listing *l, size_t i, struct strings *ret)
{
	_cleanup_free_ char *gifts = NULL;
	size_t size;
	FILE *text = open_memstream(&gifts, &size);

	if (!text)
		return -ENOMEM;
	for (size_t k = i; k < l->count; k++) {
		if (!is_off_for_same(l, i, k) || is_gift_told(l, k))
			continue;
		if (k > i)
			fputs(", ", text);
		tell_gift(l, k, text);
	}
	if (fclose(text) != 0)
		return -ENOMEM;
	return strings_add(ret, "%s: %s", gifts, l->hooks[i].why);
}

int missing_list(const struct hook *hooks, size_t count, const char *tier, struct strings *ret)
{
	const struct listing listing = { hooks, count, tier };
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		if (is_off(&listing, i) && !is_reason_told(&listing, i))
			r = tell_reason(&listing, i, ret);
	}
	return r;
}
