/* SPDX-License-Identifier: MIT */
/*
 * Any text for the readers of small things: numbers, keys, words, CPU lists, moments, UTF-8.  Each
 * is held against a simpler reader, or comes back as it went.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/cpulist.h"
#include "basic/decimal.h"
#include "fuzz.h"
#include "basic/humanize.h"
#include "basic/macro.h"
#include "basic/parse.h"
#include "basic/timestamp.h"
#include "basic/utf8.h"

#define WORDS_MAX 32 /* that are looked for, each from the start */

/* What strtoull() says where digits stand. */
static int read_number(const char *text, uint64_t *ret, char **ret_end)
{
	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	*ret = strtoull(text, ret_end, 10);
	return -errno;
}

static void check_number(const char *text)
{
	uint64_t number = 0, expected = 0;
	char *end = NULL;
	int r = read_number(text, &expected, &end), small = 0;

	if (r == 0 && *end)
		r = -EINVAL;
	if (r == -ERANGE) {
		CHECK(parse_u64(text, &number) < 0);
	} else {
		CHECK(parse_u64(text, &number) == r);
		CHECK(number == expected || r < 0);
	}
	if (parse_int(text, -5, 70000, &small) == 0)
		CHECK(small == strtol(text, NULL, 10) && small >= -5 && small <= 70000);
	else
		CHECK(r < 0 || expected > 70000);
}

/* Line by line, on a copy. */
static int read_keyed(const char *text, const char *key, char separator, uint64_t *ret)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *line, *end = NULL;
	size_t length = strlen(key);

	while ((line = strsep(&rest, "\n"))) {
		int r;

		if (strncmp(line, key, length) != 0 || !strchr(" \t:", line[length]) ||
		    !line[length] || (line[length] == ':' && separator != ':'))
			continue;
		line += length + 1;
		r = read_number(line + strspn(line, " \t"), ret, &end);
		return r == 0 && !strchr(" \t", *end) ? -EINVAL : r;
	}
	return -ENOENT;
}

static void check_key(const char *text, const char *key, char separator)
{
	uint64_t number = 0, expected = 0;
	int r = parse_keyed_u64(text, key, separator, &number);

	CHECK(r == read_keyed(text, key, separator, &expected));
	CHECK(r < 0 || number == expected);
}

/* The same of "KEY a=1 LABEL=2". */
static int read_labelled(const char *text, const char *key, const char *label, uint64_t *ret)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *line, *word, *end = NULL;
	size_t length = strlen(label);

	while ((line = strsep(&rest, "\n"))) {
		word = strsep(&line, " ");
		if (strcmp(word, key) != 0)
			continue;
		while ((word = strsep(&line, " "))) {
			int r;

			if (strncmp(word, label, length) != 0 || word[length] != '=')
				continue;
			r = read_number(word + length + 1, ret, &end);
			return r == 0 && !strchr("\t", *end) ? -EINVAL : r;
		}
	}
	return -ENOENT;
}

static void check_label(const char *text, const char *key, const char *label)
{
	uint64_t number = 0, expected = 0;
	int r = parse_labelled_u64(text, key, label, &number);

	CHECK(r == read_labelled(text, key, label, &expected));
	CHECK(r < 0 || number == expected);
}

static void check_words(const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	char *rest = copy, *line, *word;
	size_t lines = 0, newlines = 0, words = 0;

	while ((line = parse_next_line(&rest))) {
		CHECK(!strchr(line, '\n'));
		lines++;
		while ((word = parse_next_word(&line))) {
			CHECK(*word && !strpbrk(word, " \t\n"));
			CHECK(words++ > WORDS_MAX || parse_has_word(text, word));
		}
	}
	for (const char *p = text; *p; p++)
		newlines += *p == '\n';
	CHECK(lines == newlines + (*text && text[strlen(text) - 1] != '\n'));
}

static void check_cpulist(const char *text)
{
	_cleanup_free_ char *once = NULL, *twice = NULL;
	struct cpulist list, back;

	if (cpulist_parse(text, &list) < 0)
		return;
	CHECK(cpulist_count(&list) <= CPULIST_MAX);
	once = cpulist_format(&list);
	CHECK(cpulist_parse(once, &back) == 0);
	CHECK(memcmp(&list, &back, sizeof(list)) == 0);
	cpulist_add(&back, &list);
	twice = cpulist_format(&back);
	CHECK(strcmp(once, twice) == 0);
}

static void check_timestamp(const char *text)
{
	char once[TIMESTAMP_SIZE];
	uint64_t ns, back;

	if (timestamp_parse(text, &ns) < 0)
		return;
	timestamp_format(once, ns);
	CHECK(timestamp_parse(once, &back) == 0 && back == ns);
	CHECK(strncmp(once, text, strlen("2026-02-03T04:05:06")) == 0);
}

/* Once repaired, text is valid and stays as it is; cut, it fits. */
static void check_utf8(const char *text, size_t columns)
{
	_cleanup_free_ char *repaired = utf8_repair(text), *again = utf8_repair(repaired),
			    *cut = utf8_shorten(text, columns);
	uint32_t c;

	CHECK(strcmp(repaired, again) == 0);
	CHECK(utf8_columns(repaired) == utf8_columns(text));
	CHECK(utf8_columns(cut) <= columns);
	CHECK(utf8_columns(text) > columns || strcmp(cut, text) == 0);
	for (const char *p = repaired, *before = p; (c = utf8_next(&p)) != 0; before = p) {
		char bytes[UTF8_MAX];

		CHECK(c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff));
		CHECK(utf8_encode(c, bytes) == (size_t)(p - before));
		CHECK(memcmp(bytes, before, (size_t)(p - before)) == 0);
	}
}

static void check_decimal(uint64_t number, unsigned int places)
{
	char once[DECIMAL_SIZE], twice[DECIMAL_SIZE];
	uint64_t back;

	decimal_format(once, number, places);
	CHECK(strspn(once, "0123456789.") == strlen(once));
	if (strcspn(once, ".") > 15)
		return; /* more digits before the point than a double holds */
	if (number > UINT64_MAX - 100000)
		return; /* rounded up, it may be over 64 bits */
	CHECK(decimal_from_double(strtod(once, NULL), places, &back) == 0);
	CHECK(strcmp(once, decimal_format(twice, back, places)) == 0);
}

static void check_human(struct human h)
{
	size_t length = strnlen(h.text, sizeof(h.text));
	uint32_t c;

	CHECK(length > 0 && length < sizeof(h.text));
	for (const char *p = h.text; (c = utf8_next(&p)) != 0;)
		CHECK(utf8_is_printable(c) && c != UTF8_REPLACEMENT);
}

static void check_numbers(const uint8_t *data, size_t size)
{
	uint64_t number = 0;
	double share;

	if (size == 0)
		return;
	memcpy(&number, data, MIN(size, sizeof(number)));
	memcpy(&share, &number, sizeof(share));
	check_decimal(number, data[0] % 10);
	check_human(humanize_bytes(number));
	check_human(humanize_count(number));
	check_human(humanize_duration(number));
	check_human(humanize_cores(number));
	if (share >= 0 && share <= 1e6)
		check_human(humanize_percent(share));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);

	check_number(text);
	check_key(text, "oom_kill", '\0');
	check_key(text, "rchar", ':');
	check_label(text, "some", "total");
	check_label(text, "full", "avg10");
	check_words(text);
	check_cpulist(text);
	check_timestamp(text);
	check_utf8(text, 1 + size % 40);
	check_numbers(data, size);
	return 0;
}
