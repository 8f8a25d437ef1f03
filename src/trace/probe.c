/* SPDX-License-Identifier: MIT */
#include "trace/probe.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"
#include "trace/probe_parts.h"

const char *const probe_kinds[] = { "call",	  "send",   "receive",	   "wait",
				    "collective", "rooted", "open",	   "read",
				    "write",	  "launch", "copy",	   "fill",
				    "allocate",	  "free",   "synchronise", NULL };
static_assert(ARRAY_SIZE(probe_kinds) == PROBE_KIND_COUNT + 1, "a name for each");

const char *const probe_levels[] = { "default", "profile", "trace", NULL };

int probe_find_capture(const struct probe *probe, const char *name)
{
	for (size_t i = 0; i < probe->capture_count; i++) {
		if (strcmp(probe->captures[i].name, name) == 0)
			return (int)i;
	}
	return -ENOENT;
}

int probe_set_find_map(const struct probe_set *set, const char *name)
{
	for (size_t i = 0; i < set->map_count; i++) {
		if (strcmp(set->maps[i].name, name) == 0)
			return (int)i;
	}
	return -ENOENT;
}

int probe_set_find_table(const struct probe_set *set, const char *name)
{
	for (size_t i = 0; i < set->table_count; i++) {
		if (strcmp(set->tables[i].name, name) == 0)
			return (int)i;
	}
	return -ENOENT;
}

const char *probe_set_find_word(const struct probe_set *set, const char *capture, int64_t value)
{
	for (size_t i = 0; i < set->words_count; i++) {
		const struct probe_words *words = &set->words[i];

		if (strcmp(words->name, capture) == 0)
			return value >= 0 && (uint64_t)value < words->row_count ? words->rows[value]
										: NULL;
	}
	return NULL;
}

/* A nested name of the Itanium ABI, "_ZN2at4_ops10add_Tensor4callE...": the parts' lengths, and
 * themselves. */
const char *probe_shown_name(enum probe_shown shown, const char *symbol, size_t *ret_length)
{
	const char *before = NULL, *last = NULL, *at = symbol, *end = symbol + strlen(symbol);
	size_t before_length = 0, length = 0;

	*ret_length = (size_t)(end - symbol);
	if (shown != PROBE_SHOWN_CLASS || strncmp(symbol, "_ZN", 3) != 0)
		return symbol;
	at += 3;
	at += strspn(at, "rVK");
	while (*at >= '1' && *at <= '9') {
		before = last;
		before_length = length;
		length = strtoul(at, (char **)&at, 10);
		if (length > (size_t)(end - at))
			return symbol;
		last = at;
		at += length;
	}
	if (*at != 'E' || !before)
		return symbol;
	*ret_length = before_length;
	return before;
}

int probe_read_words(const char *text, size_t max, char **words, size_t *count)
{
	for (const char *p = text; *p; p += strspn(p, " \t")) {
		const size_t length = strcspn(p, " \t");

		if (*count == max || length >= PROBE_PATTERN_MAX)
			return -E2BIG;
		words[*count] = strndup(p, length);
		if (!words[*count])
			return -ENOMEM;
		++*count;
		p += length;
	}
	return 0;
}

static void texts_free(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
}

struct probe_set *probe_set_free(struct probe_set *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->probe_count; i++) {
		texts_free(s->probes[i]->symbols, s->probes[i]->symbol_count);
		texts_free(s->probes[i]->callbacks, s->probes[i]->callback_count);
		free(s->probes[i]);
	}
	for (size_t i = 0; i < s->library_count; i++) {
		texts_free(s->libraries[i]->patterns, s->libraries[i]->pattern_count);
		texts_free(s->libraries[i]->callbacks, s->libraries[i]->callback_count);
		texts_free(s->libraries[i]->parts, s->libraries[i]->part_count);
		free(s->libraries[i]->program_marker);
		free(s->libraries[i]);
	}
	for (size_t i = 0; i < s->words_count; i++)
		texts_free(s->words[i].rows, s->words[i].row_count);
	free(s->probes);
	free(s->libraries);
	free(s->file);
	free(s->about);
	free(s);
	return NULL;
}

void probe_set_freep(struct probe_set **s)
{
	*s = probe_set_free(*s);
}
