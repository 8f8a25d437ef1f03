/* SPDX-License-Identifier: MIT */
/*
 * Any text as a mountinfo file: a mount a line, which come back from a mountinfo file made of them;
 * and what is found is what was asked for, and in sight.
 */
#include <stdbool.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "fuzz.h"
#include "basic/macro.h"
#include "cgroup/mounts.h"

#define LOOKUPS_MAX 64 /* each takes the square of the mounts */

/* As the kernel writes a word: mangle() in fs/proc_namespace.c. */
static void put_word(FILE *out, const char *word)
{
	fputc(' ', out);
	for (; *word; word++) {
		if (strchr(" \t\n\\#", *word))
			fprintf(out, "\\%03o", (unsigned char)*word);
		else
			fputc(*word, out);
	}
}

static char *format(const struct mounts *mounts)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *m = &mounts->items[i];

		fprintf(out, "%zu 1 %u:%u", i, m->device >> 20, m->device & 0xfffff);
		put_word(out, m->root);
		put_word(out, m->point);
		fputs(" rw shared:1 -", out);
		put_word(out, m->fstype);
		put_word(out, m->source);
		put_word(out, m->options);
		fputc('\n', out);
	}
	CHECK(fclose(out) == 0);
	return text;
}

/* Escapes can make a word that is none: "\000" is an empty one. */
static bool has_empty_words(const struct mounts *mounts)
{
	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *m = &mounts->items[i];

		if (!*m->root || !*m->point || !*m->fstype || !*m->source)
			return true;
	}
	return false;
}

static void check_rtt(const struct mounts *mounts)
{
	_cleanup_free_ char *text = format(mounts);
	_cleanup_(mounts_clear) struct mounts back = {};
	struct error err;

	if (has_empty_words(mounts))
		return;
	CHECK(mounts_parse(text, &back, &err) == 0);
	CHECK(back.count == mounts->count);
	for (size_t i = 0; i < back.count; i++) {
		const struct mount *a = &mounts->items[i], *b = &back.items[i];

		CHECK(a->device == b->device);
		CHECK(strcmp(a->root, b->root) == 0 && strcmp(a->point, b->point) == 0);
		CHECK(strcmp(a->fstype, b->fstype) == 0 && strcmp(a->source, b->source) == 0);
		CHECK(strcmp(a->options, b->options) == 0);
	}
}

static bool is_hidden(const struct mounts *mounts, const struct mount *m)
{
	for (const struct mount *later = m + 1; later < mounts->items + mounts->count; later++) {
		if (strcmp(later->point, m->point) == 0)
			return true;
	}
	return false;
}

static void check_lookup(const struct mounts *mounts, const struct mount *wanted)
{
	const struct mount *found = mounts_find(mounts, wanted->device);

	if (!found) {
		CHECK(is_hidden(mounts, wanted));
		return;
	}
	CHECK(found >= mounts->items && found < mounts->items + mounts->count);
	CHECK(found->device == wanted->device && !is_hidden(mounts, found));
	found = mounts_find_type(mounts, wanted->fstype, NULL);
	CHECK(found ? strcmp(found->fstype, wanted->fstype) == 0 && !is_hidden(mounts, found)
		    : is_hidden(mounts, wanted));
}

static void check_option(const struct mounts *mounts, const char *option)
{
	const struct mount *found = mounts_find_type(mounts, "cgroup", option);

	if (found)
		CHECK(strcmp(found->fstype, "cgroup") == 0 && strstr(found->options, option));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);
	_cleanup_(mounts_clear) struct mounts mounts = {};
	struct error err = {};
	size_t lines = 1;

	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	if (mounts_parse(text, &mounts, &err) < 0) {
		CHECK(*err.text && !mounts.items);
		return 0;
	}
	CHECK(mounts.count <= lines);
	check_rtt(&mounts);
	for (size_t i = 0; i < MIN(mounts.count, (size_t)LOOKUPS_MAX); i++)
		check_lookup(&mounts, &mounts.items[i]);
	check_option(&mounts, "memory");
	check_option(&mounts, "cpu");
	return 0;
}
