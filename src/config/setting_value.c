/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/decimal.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "config/settings.h"
#include "basic/utf8.h"

struct unit {
	const char *name;
	uint64_t factor;
};

/* clang-format off */
static const struct unit durations[] = { /* the largest first: a value is shown in the largest that fits */
	{ "d",  UINT64_C(86400000000000) },
	{ "h",  UINT64_C(3600000000000) },
	{ "m",  UINT64_C(60000000000) },
	{ "s",  UINT64_C(1000000000) },
	{ "ms", UINT64_C(1000000) },
};

static const struct unit sizes[] = {
	{ "TiB", UINT64_C(1) << 20 },
	{ "GiB", UINT64_C(1) << 10 },
	{ "MiB", 1 },
	{ "",    1 },
};

static const struct { const char *word; bool value; } truths[] = {
	{ "on",  true  }, { "yes", true  }, { "true",  true  },
	{ "off", false }, { "no",  false }, { "false", false },
};
/* clang-format on */

static void *value_of(const struct setting *setting, const void *values)
{
	return (char *)(uintptr_t)values + setting->offset;
}

/* ---- reading ---- */

static int parse_unit(const char *text, const struct unit *units, size_t count, uint64_t *ret)
{
	uint64_t number;

	if (!isdigit((unsigned char)*text) || parse_leading_u64(&text, &number) < 0)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(text, units[i].name) != 0)
			continue;
		if (number > UINT64_MAX / units[i].factor)
			return -EINVAL;
		*ret = number * units[i].factor;
		return 0;
	}
	return -EINVAL;
}

/* "0.5%", as millionths. */
static int parse_percent(const char *text, uint64_t *ret)
{
	uint64_t number, scale = 10000;

	if (!isdigit((unsigned char)*text) || parse_leading_u64(&text, &number) < 0 || number > 100)
		return -EINVAL;
	number *= scale;
	if (*text == '.' && !isdigit((unsigned char)*++text))
		return -EINVAL;
	for (; scale > 1 && isdigit((unsigned char)*text); text++)
		number += (uint64_t)(*text - '0') * (scale /= 10);
	if (strcmp(text, "%") != 0)
		return -EINVAL;
	*ret = number;
	return 0;
}

static int parse_number(const struct setting *setting, const char *text, uint64_t *ret)
{
	uint64_t number;
	int r;

	if (setting->type == SETTING_DURATION)
		r = parse_unit(text, durations, ARRAY_SIZE(durations), &number);
	else if (setting->type == SETTING_MIB)
		r = parse_unit(text, sizes, ARRAY_SIZE(sizes), &number);
	else if (setting->type == SETTING_PERCENT)
		r = parse_percent(text, &number);
	else
		r = isdigit((unsigned char)*text) ? parse_u64(text, &number) : -EINVAL;
	if (r < 0 || number < setting->min || number > setting->max)
		return -EINVAL;
	*ret = number;
	return 0;
}

static int parse_bool(const char *text, bool *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(truths); i++) {
		if (strcmp(text, truths[i].word) == 0) {
			*ret = truths[i].value;
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_choice(const struct setting *setting, const char *text, unsigned int *ret)
{
	for (unsigned int i = 0; setting->words[i]; i++) {
		if (strcmp(text, setting->words[i]) == 0) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

static bool is_allowed(const struct setting *setting, size_t field, const char *text)
{
	if (strlen(text) > SETTING_TEXT_MAX)
		return false;
	for (const char *p = text; *p;) {
		uint32_t c = utf8_next(&p);

		if (c == UTF8_REPLACEMENT || !utf8_is_printable(c))
			return false;
	}
	return !setting->is_allowed || setting->is_allowed(field, text);
}

static int parse_text(const struct setting *setting, const char *text, char **value)
{
	char *copy;

	if (!is_allowed(setting, 0, text))
		return -EINVAL;
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(*value);
	*value = copy;
	return 0;
}

static size_t fields_of(const struct setting *setting)
{
	size_t count = 0;

	while (setting->words && setting->words[count])
		count++;
	assert(count <= SETTING_FIELDS_MAX);
	return MAX(count, (size_t)1);
}

static void clear_list(struct setting_list *list)
{
	for (size_t i = 0; i < list->count * list->fields; i++)
		free(list->texts[i]);
	free(list->texts);
	*list = (struct setting_list){};
}

int setting_set_list(const struct setting *setting, char *const *texts, size_t count, void *values)
{
	struct setting_list *value = value_of(setting, values);
	struct setting_list list = { .fields = fields_of(setting) };

	if (count > setting->max)
		return -EINVAL;
	for (size_t i = 0; i < count * list.fields; i++) {
		if (!is_allowed(setting, i % list.fields, texts[i]))
			return -EINVAL;
	}
	list.texts = calloc(count * list.fields + 1, sizeof(*list.texts));
	if (!list.texts)
		return -ENOMEM;
	list.count = count;
	for (size_t i = 0; i < count * list.fields; i++) {
		list.texts[i] = texts[i] ? strdup(texts[i]) : NULL;
		if (!list.texts[i]) {
			clear_list(&list);
			return -ENOMEM;
		}
	}
	clear_list(value);
	*value = list;
	return 0;
}

/* "a, b" */
static int parse_list(const struct setting *setting, const char *text, void *values)
{
	_cleanup_free_ char *copy = strdup(text);
	_cleanup_free_ char **texts = NULL;
	size_t count = 0;
	char *saved = NULL;

	if (fields_of(setting) > 1 && *text)
		return -EINVAL;
	texts = calloc(strlen(text) + 1, sizeof(*texts));
	if (!copy || !texts)
		return -ENOMEM;
	for (char *p = strtok_r(copy, ", ", &saved); p; p = strtok_r(NULL, ", ", &saved))
		texts[count++] = p;
	return setting_set_list(setting, texts, count, values);
}

int setting_parse(const struct setting *setting, const char *text, void *values)
{
	void *value = value_of(setting, values);

	switch (setting->type) {
	case SETTING_BOOL:
		return parse_bool(text, value);
	case SETTING_CHOICE:
		return parse_choice(setting, text, value);
	case SETTING_TEXT:
		return parse_text(setting, text, value);
	case SETTING_LIST:
		return parse_list(setting, text, values);
	default:
		return parse_number(setting, text, value);
	}
}

/* ---- showing ---- */

static char *format_unit(uint64_t value, const struct unit *units, size_t count)
{
	const struct unit *unit = units;
	char *text;

	while (unit < units + count - 1 && (value % unit->factor || !value))
		unit++;
	return asprintf(&text, "%" PRIu64 "%s", value / unit->factor, unit->name) < 0 ? NULL : text;
}

static char *format_number(const struct setting *setting, uint64_t value)
{
	char decimal[DECIMAL_SIZE];
	char *text;

	if (setting->type == SETTING_DURATION)
		return format_unit(value, durations, ARRAY_SIZE(durations));
	if (setting->type == SETTING_MIB)
		return format_unit(value, sizes, ARRAY_SIZE(sizes) - 1);
	if (setting->type == SETTING_PERCENT)
		return asprintf(&text, "%s%%", decimal_format(decimal, value, 4)) < 0 ? NULL : text;
	return asprintf(&text, "%" PRIu64, value) < 0 ? NULL : text;
}

/* Whether YAML takes the bare text for just this text; @is_inside: of a list in brackets. */
static bool is_plain(const char *text, bool is_inside)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	static const char *const not_plain[] = { "null", "Null", "NULL" };

	if (!*text || !strchr(letters, *text))
		if (*text != '/' || is_inside)
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(not_plain); i++) {
		if (strcmp(text, not_plain[i]) == 0)
			return false;
	}
	for (const char *p = text; *p; p++) {
		if (!strchr(letters, *p) && !strchr("/._-", *p) &&
		    (*p != ':' || !isdigit((unsigned char)p[1])))
			return false;
	}
	return true;
}

static void print_quoted(FILE *out, const char *text, bool is_inside)
{
	if (is_plain(text, is_inside)) {
		fputs(text, out);
		return;
	}
	fputc('\'', out); /* there are no control characters, so the only letter to mind is the
			     quote */
	for (; *text; text++)
		fputs(*text == '\'' ? "''" : (char[]){ *text, '\0' }, out);
	fputc('\'', out);
}

static void print_entry(const struct setting *setting, const struct setting_list *list,
			size_t entry, FILE *out)
{
	fputs(entry ? ", " : "", out);
	if (list->fields == 1) {
		print_quoted(out, setting_list_get(list, entry, 0), true);
		return;
	}
	for (size_t field = 0; field < list->fields; field++) {
		fprintf(out, "%s%s: ", field ? ", " : "{", setting->words[field]);
		print_quoted(out, setting_list_get(list, entry, field), true);
	}
	fputc('}', out);
}

static char *format_list(const struct setting *setting, const struct setting_list *list)
{
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputc('[', out);
	for (size_t i = 0; i < list->count; i++)
		print_entry(setting, list, i, out);
	fputc(']', out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

char *setting_format(const struct setting *setting, const void *values)
{
	const void *value = value_of(setting, values);

	switch (setting->type) {
	case SETTING_BOOL:
		return strdup(*(const bool *)value ? "on" : "off");
	case SETTING_CHOICE:
		return strdup(setting->words[*(const unsigned int *)value]);
	case SETTING_TEXT:
		return strdup(*(char *const *)value);
	case SETTING_LIST:
		return format_list(setting, value);
	default:
		return format_number(setting, *(const uint64_t *)value);
	}
}

char *setting_format_yaml(const struct setting *setting, const void *values)
{
	_cleanup_free_ char *bare = setting_format(setting, values);
	size_t size;
	char *text = NULL;
	FILE *out;

	if (!bare || setting->type != SETTING_TEXT)
		return TAKE_PTR(bare);
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	print_quoted(out, bare, false);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- allowed values ---- */

static void put_words(struct setting_words *ret, const char *const *words)
{
	size_t used = strlen(ret->text);

	for (size_t i = 0; words[i] && used < sizeof(ret->text); i++)
		used += (size_t)snprintf(ret->text + used, sizeof(ret->text) - used, "%s%s",
					 i ? ", " : "", words[i]);
}

static struct setting_words allowed_numbers(const struct setting *setting)
{
	_cleanup_free_ char *min = format_number(setting, setting->min);
	_cleanup_free_ char *max = format_number(setting, setting->max);
	struct setting_words words;

	snprintf(words.text, sizeof(words.text), "%s to %s%s", min ? min : "?", max ? max : "?",
		 setting->type == SETTING_DURATION ? ", in ms, s, m, h or d"
		 : setting->type == SETTING_MIB	   ? ", in MiB, GiB or TiB"
						   : "");
	return words;
}

static struct setting_words allowed_list(const struct setting *setting)
{
	struct setting_words fields = {}, words;

	if (setting->words)
		put_words(&fields, setting->words);
	snprintf(words.text, sizeof(words.text), "a list of %s%.128s%s%.128s, at most %" PRIu64,
		 setting->words ? "{" : "", fields.text, setting->words ? "}: " : "",
		 setting->allowed ? setting->allowed : "texts", setting->max);
	return words;
}

struct setting_words setting_allowed(const struct setting *setting)
{
	struct setting_words words = {};

	switch (setting->type) {
	case SETTING_BOOL:
		return (struct setting_words){ "on, off, yes, no, true, false" };
	case SETTING_CHOICE:
		put_words(&words, setting->words);
		return words;
	case SETTING_TEXT:
		snprintf(words.text, sizeof(words.text), "%s",
			 setting->allowed ? setting->allowed : "a text");
		return words;
	case SETTING_LIST:
		return allowed_list(setting);
	default:
		return allowed_numbers(setting);
	}
}

/* ---- values as wholes ---- */

int setting_is_equal(const struct setting *setting, const void *a, const void *b)
{
	_cleanup_free_ char *text = setting_format(setting, a), *other = setting_format(setting, b);

	return text && other ? strcmp(text, other) == 0 : -ENOMEM;
}

static size_t size_of(enum setting_type type)
{
	static const size_t others[] = { [SETTING_BOOL] = sizeof(bool),
					 [SETTING_CHOICE] = sizeof(unsigned int),
					 [SETTING_TEXT] = sizeof(char *),
					 [SETTING_LIST] = sizeof(struct setting_list) };

	return others[type] ? others[type] : sizeof(uint64_t);
}

void setting_swap(const struct setting *setting, void *a, void *b)
{
	char kept[sizeof(struct setting_list)];
	size_t size = size_of(setting->type);

	memcpy(kept, value_of(setting, a), size);
	memcpy(value_of(setting, a), value_of(setting, b), size);
	memcpy(value_of(setting, b), kept, size);
}

void setting_clear(const struct setting *setting, void *values)
{
	void *value = value_of(setting, values);

	if (setting->type == SETTING_TEXT)
		free(*(char **)value);
	else if (setting->type == SETTING_LIST)
		clear_list(value);
	memset(value, 0, size_of(setting->type));
}
