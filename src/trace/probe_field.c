/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/error.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "trace/probe_parts.h"

static int read_alias(struct probe_scope *scope, const char *value)
{
	for (const char *p = value; *p; p += strspn(p, " \t")) {
		size_t length = strcspn(p, " \t");

		if (!memchr(p, '%', length))
			return error_set(scope->err, -EINVAL,
					 "words with a %% for the symbol must stand here");
		p += length;
	}
	scope->alias = value;
	return 0;
}

static int read_words(const struct probe_scope *scope, const char *text, char **words,
		      size_t *count)
{
	int r = probe_read_words(text, PROBE_PATTERNS_MAX, words, count);

	return r == -E2BIG ? error_set(scope->err, -EINVAL,
				       "a probe has at most %d of these, each below %d bytes",
				       PROBE_PATTERNS_MAX, PROBE_PATTERN_MAX)
			   : r;
}

static int read_symbol(struct probe_scope *scope, const char *value)
{
	return read_words(scope, value, scope->probe->symbols, &scope->probe->symbol_count);
}

static int read_callbacks(struct probe_scope *scope, const char *value)
{
	return read_words(scope, value, scope->probe->callbacks, &scope->probe->callback_count);
}

/* What is at another site than a function: its name, with a colon or without. */
static int read_site(struct probe_scope *scope, const char *value, enum probe_site site)
{
	const bool has_colon = site != PROBE_KERNEL;
	struct probe *probe = scope->probe;

	if (probe->symbol_count || probe->site != PROBE_FUNCTION)
		return error_set(scope->err, -EINVAL, "a probe has one place");
	if (probe->value_count || probe->text.max_bytes)
		return error_set(scope->err, -EINVAL, "this must stand above all values");
	if ((strchr(value, ':') != NULL) != has_colon || strpbrk(value, " \t"))
		return error_set(scope->err, -EINVAL, "%s must stand here, and not '%.40s'",
				 has_colon ? "NAME:NAME" : "one name", value);
	probe->site = site;
	return read_symbol(scope, value);
}

/* Both are in one function, and so have the same frame. */
static int read_until(struct probe_scope *scope, const char *value)
{
	struct probe *probe = scope->probe;

	if (probe->site != PROBE_USDT || !strchr(value, ':') || strlen(value) >= PROBE_NAME_MAX)
		return error_set(scope->err, -EINVAL,
				 "NAME:NAME of a USDT probe must stand here, below 'usdt'");
	snprintf(probe->until, sizeof(probe->until), "%s", value);
	probe->exit = PROBE_EXIT_RET_INSN;
	probe->fails = PROBE_FAILS_NEVER;
	return 0;
}

static int read_key(struct probe_scope *scope, const char *value)
{
	struct probe *probe = scope->probe;

	probe->key_count = 0;
	for (const char *p = value; *p; p += strspn(p, " \t")) {
		size_t length = strcspn(p, " \t");
		char name[PROBE_NAME_MAX];
		int index;

		snprintf(name, sizeof(name), "%.*s", (int)MIN(length, sizeof(name)), p);
		index = probe_find_capture(probe, name);
		if (index < 0)
			return error_set(scope->err, -EINVAL,
					 "no capture is called '%s'; it must stand above", name);
		if (probe->key_count == PROBE_KEYS_MAX)
			return error_set(scope->err, -EINVAL, "a probe can have at most %d keys",
					 PROBE_KEYS_MAX);
		probe->keys[probe->key_count++] = (uint8_t)index;
		p += length;
	}
	return 0;
}

static int read_names(struct probe_scope *scope, const char *value)
{
	int index = probe_find_capture(scope->probe, value);

	if (index < 0)
		return error_set(scope->err, -EINVAL,
				 "no capture is called '%.40s'; it must stand above", value);
	scope->probe->is_naming = true;
	scope->probe->named = (uint8_t)index;
	return 0;
}

static int read_hist(struct probe_scope *scope, const char *value)
{
	struct probe *probe = scope->probe;

	probe->has_size_histogram = parse_has_word(value, "bytes");
	probe->has_duration_histogram = parse_has_word(value, "dur");
	if (!probe->has_size_histogram && !probe->has_duration_histogram &&
	    strcmp(value, "none") != 0)
		return error_set(scope->err, -EINVAL, "'bytes', 'dur', both or 'none'");
	return 0;
}

static const char *const yes_no[] = { "no", "yes", NULL };
static const char *const inner_words[] = { "keep", "skip", NULL };
static const char *const shown_words[] = { "symbol", "class", "probe", "text", NULL };
static const char *const fails_words[] = { "not-0", "below-0", "never", NULL };
static const char *const exit_words[] = { "none", "return", "ret-insn", NULL };

#define FLAG(member) offsetof(struct probe, member), sizeof(bool)
#define ENUM(member) offsetof(struct probe, member), sizeof(unsigned int)

/* Fields of a probe, but for cap.NAME and library: one of some words, or what @read understands. */
static const struct probe_field {
	const char *key;
	bool is_default; /* may stand in [set], for all probes */
	int (*read)(struct probe_scope *scope, const char *value);
	const char *const *words; /* NULL-ended; the member becomes the index */
	size_t offset, size;
	enum probe_site site; /* the field names a place of this kind, other than a function */
} probe_fields[] = {
	/* clang-format off */
	{ "alias",      true,  read_alias },
	{ "symbol",     false, read_symbol },
	{ "usdt",       false, .site = PROBE_USDT },
	{ "until",      false, read_until },
	{ "kernel",     false, .site = PROBE_KERNEL },
	{ "tracepoint", false, .site = PROBE_TRACEPOINT },
	{ "callbacks",  false, read_callbacks },
	{ "exit",       true,  NULL, exit_words, ENUM(exit) },
	{ "throws",     true,  NULL, yes_no, FLAG(is_throwing) },
	{ "sleepable",  true,  NULL, yes_no, FLAG(is_sleepable) },
	{ "inner",      true,  NULL, inner_words, FLAG(is_inner_skipped) },
	{ "silent",     true,  NULL, yes_no, FLAG(is_silent) },
	{ "async",      true,  NULL, yes_no, FLAG(is_async) },
	{ "fails",      true,  NULL, fails_words, ENUM(fails) },
	{ "shown",      true,  NULL, shown_words, ENUM(shown) },
	{ "level",      true,  NULL, probe_levels, ENUM(level) },
	{ "kind",       true,  NULL, probe_kinds, ENUM(kind) },
	{ "bytes",      false, probe_scope_read_bytes },
	{ "key",        false, read_key },
	{ "names",      false, read_names },
	{ "hist",       true,  read_hist },
	{ "event.if",   true,  probe_scope_read_condition },
	{ "map.put",    false, probe_scope_read_put },
	{ "map.delete", false, probe_scope_read_delete },
	/* clang-format on */
};

static const struct probe_field *find_field(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(probe_fields); i++) {
		if (strcmp(probe_fields[i].key, key) == 0)
			return &probe_fields[i];
	}
	return NULL;
}

bool probe_is_field(const char *text)
{
	char key[16];

	snprintf(key, sizeof(key), "%.*s", (int)MIN(strcspn(text, " ="), sizeof(key)), text);
	return find_field(key);
}

static int read_word(struct probe_scope *scope, const struct probe_field *field, const char *value)
{
	char *at = (char *)scope->probe + field->offset, all[200] = "";
	unsigned int i = 0;

	for (; field->words[i] && strcmp(field->words[i], value) != 0; i++)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), " %s", field->words[i]);
	if (!field->words[i])
		return error_set(scope->err, -EINVAL, "'%.40s' is none of:%s", value, all);
	scope->is_throws_said |= field->offset == offsetof(struct probe, is_throwing);
	if (field->size == sizeof(bool))
		*(bool *)at = i;
	else
		memcpy(at, &i, sizeof(i));
	return 0;
}

bool probe_is_default_field(const char *key)
{
	const struct probe_field *field = find_field(key);

	return field && field->is_default;
}

int probe_scope_read_field(struct probe_scope *scope, const char *key, const char *value)
{
	const struct probe_field *field = find_field(key);

	if (strncmp(key, "cap.", 4) == 0)
		return probe_scope_read_capture(scope, key + 4, value);
	if (!field)
		return -ENOENT;
	if (field->site)
		return read_site(scope, value, field->site);
	return field->words ? read_word(scope, field, value) : field->read(scope, value);
}

static int add_aliases(struct probe_scope *scope)
{
	struct probe *probe = scope->probe;
	size_t count = probe->symbol_count;
	int r = 0;

	for (const char *p = scope->alias; p && *p && r == 0; p += strspn(p, " \t")) {
		size_t before = strcspn(p, "%"), after = strcspn(p + before + 1, " \t");

		for (size_t i = 0; r == 0 && i < count; i++) {
			char name[2 * PROBE_PATTERN_MAX];

			snprintf(name, sizeof(name), "%.*s%s%.*s", (int)MIN(before, 64U), p,
				 probe->symbols[i], (int)MIN(after, 64U), p + before + 1);
			r = read_symbol(scope, name);
		}
		p += before + 1 + after;
	}
	return r;
}

/* The symbol of C++ or Rust, or one that may be: what it calls can throw. */
static bool may_throw(const char *symbol)
{
	return strncmp(symbol, "_Z", 2) == 0 || strncmp(symbol, "_R", 2) == 0 ||
	       strncmp(symbol, "_*", 2) == 0 || *symbol == '*' || *symbol == '?' || *symbol == '[';
}

int probe_scope_finish(struct probe_scope *scope)
{
	struct probe *probe = scope->probe;
	int r = 0;

	if (!probe->symbol_count)
		r = read_symbol(scope, probe->name);
	if (r == 0 && probe->site == PROBE_FUNCTION)
		r = add_aliases(scope);
	for (size_t i = 0; !scope->is_throws_said && i < probe->symbol_count; i++)
		probe->is_throwing |= may_throw(probe->symbols[i]);
	probe->is_never_throwing = scope->is_throws_said && !probe->is_throwing;
	return r;
}
