/* SPDX-License-Identifier: MIT */
#include "basic/utf8.h"

#include <stdlib.h>
#include <string.h>

#include "basic/macro.h"

struct range {
	uint32_t first, last;
};

/* clang-format off */
static const struct range unprintable[] = {
	{ 0x00, 0x1f }, { 0x7f, 0x9f },
	{ 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2066, 0x2069 }, /* line ends, direction */
	{ 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
};

static const struct range wide[] = {
	{ 0x1100, 0x115f }, { 0x231a, 0x231b }, { 0x2329, 0x232a }, { 0x23e9, 0x23ec },
	{ 0x25fd, 0x25fe }, { 0x2614, 0x2615 }, { 0x26a1, 0x26a1 }, { 0x2705, 0x2705 },
	{ 0x274c, 0x274c }, { 0x2753, 0x2755 }, { 0x2795, 0x2797 }, { 0x2b1b, 0x2b1c },
	{ 0x2b50, 0x2b50 }, { 0x2e80, 0x303e }, { 0x3041, 0x33ff }, { 0x3400, 0x4dbf },
	{ 0x4e00, 0x9fff }, { 0xa000, 0xa4cf }, { 0xa960, 0xa97c }, { 0xac00, 0xd7a3 },
	{ 0xf900, 0xfaff }, { 0xfe30, 0xfe6f }, { 0xff00, 0xff60 }, { 0xffe0, 0xffe6 },
	{ 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1faff }, { 0x20000, 0x3fffd },
};

static const struct range combining[] = {
	{ 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd }, { 0x0610, 0x061a },
	{ 0x064b, 0x065f }, { 0x06d6, 0x06dc }, { 0x0900, 0x0902 }, { 0x093c, 0x093c },
	{ 0x0941, 0x0948 }, { 0x0e31, 0x0e31 }, { 0x0e34, 0x0e3a }, { 0x1ab0, 0x1aff },
	{ 0x1dc0, 0x1dff }, { 0x200b, 0x200d }, { 0x2060, 0x2064 }, { 0x20d0, 0x20ff },
	{ 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f }, { 0xfeff, 0xfeff }, { 0xe0100, 0xe01ef },
};
/* clang-format on */

static bool is_in(uint32_t c, const struct range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	}
	return false;
}

/* Bytes behind the first one, and the bits that the first one gives; 0: no such first byte. */
static size_t continuation_of(unsigned char first, uint32_t *ret)
{
	if (first >= 0xc2 && first <= 0xdf) {
		*ret = first & 0x1f;
		return 1;
	}
	if ((first & 0xf0) == 0xe0) {
		*ret = first & 0x0f;
		return 2;
	}
	if (first >= 0xf0 && first <= 0xf4) {
		*ret = first & 0x07;
		return 3;
	}
	return 0;
}

uint32_t utf8_next(const char **text)
{
	static const uint32_t smallest[] = { 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)*text;
	uint32_t c = *p;
	size_t more;

	if (c == 0)
		return 0;
	(*text)++;
	if (c < 0x80)
		return c;
	more = continuation_of(*p, &c);
	if (more == 0)
		return UTF8_REPLACEMENT;
	for (size_t i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return UTF8_REPLACEMENT;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < smallest[more] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return UTF8_REPLACEMENT;
	*text += more;
	return c;
}

size_t utf8_encode(uint32_t c, char buffer[UTF8_MAX])
{
	static const unsigned char leads[] = { 0x00, 0xc0, 0xe0, 0xf0 };
	size_t more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

	for (size_t i = more; i > 0; i--) {
		buffer[i] = (char)(0x80 | (c & 0x3f));
		c >>= 6;
	}
	buffer[0] = (char)(leads[more] | c);
	return more + 1;
}

bool utf8_is_printable(uint32_t c)
{
	return !is_in(c, unprintable, ARRAY_SIZE(unprintable));
}

unsigned int utf8_width(uint32_t c)
{
	if (c < 0x300)
		return 1;
	if (is_in(c, combining, ARRAY_SIZE(combining)))
		return 0;
	return is_in(c, wide, ARRAY_SIZE(wide)) ? 2 : 1;
}

size_t utf8_columns(const char *text)
{
	size_t columns = 0;
	uint32_t c;

	while ((c = utf8_next(&text)) != 0)
		columns += utf8_width(c);
	return columns;
}

bool utf8_is_valid(const char *text)
{
	for (;;) {
		const char *before = text;
		uint32_t c = utf8_next(&text);

		if (c == 0)
			return true;
		if (c == UTF8_REPLACEMENT && text - before == 1) /* it has three bytes itself */
			return false;
	}
}

char *utf8_repair(const char *text)
{
	/* one bad byte becomes three */
	char *copy = malloc(strlen(text) * 3 + 1);
	char *end = copy;
	uint32_t c;

	if (!copy)
		return NULL;
	while ((c = utf8_next(&text)) != 0)
		end += utf8_encode(c, end);
	*end = '\0';
	return copy;
}

/* The place behind the last character that ends within @columns. */
static const char *skip_columns(const char *text, size_t columns)
{
	for (;;) {
		const char *next = text;
		uint32_t c = utf8_next(&next);
		unsigned int width = utf8_width(c);

		if (c == 0 || width > columns)
			return text;
		columns -= width;
		text = next;
	}
}

char *utf8_shorten(const char *text, size_t columns)
{
	size_t all = utf8_columns(text);
	size_t head = columns / 2, tail = columns - head - 1;
	const char *head_end, *tail_start;
	char *copy, *end;

	if (all <= columns)
		return strdup(text);
	head_end = skip_columns(text, head);
	tail_start = text;
	while (all > tail)
		all -= utf8_width(utf8_next(&tail_start));
	copy = malloc((size_t)(head_end - text) + strlen("…") + strlen(tail_start) + 1);
	if (!copy)
		return NULL;
	end = mempcpy(copy, text, (size_t)(head_end - text));
	end = mempcpy(end, "…", strlen("…"));
	memcpy(end, tail_start, strlen(tail_start) + 1);
	return copy;
}

char utf8_ascii(uint32_t c)
{
	/* clang-format off */
	static const struct {
		uint32_t c;
		char ascii;
	} rows[] = {
		{ 0x2592, '%' }, { 0x2588, '#' }, { 0x2589, '#' }, { 0x258a, '#' }, { 0x258b, '#' }, { 0x258c, '#' },
		{ 0x258d, ':' }, { 0x258e, ':' }, { 0x258f, ':' }, /* bars in eighths; '.' is their empty rest */
		{ 0x2581, '_' }, { 0x2582, ',' }, { 0x2583, '-' }, { 0x2584, '=' }, { 0x2585, '+' },
		{ 0x2586, '*' }, { 0x2587, '%' }, /* levels in eighths */
		{ 0x25bc, 'v' }, { 0x25b2, '^' }, { 0x2502, '|' }, { 0x251c, '|' }, { 0x2514, '`' },
		{ 0x2500, '-' }, /* a sorted column, a tree */
		{ 0xb7, '.' }, { 0x2026, '~' }, { 0x2265, '>' }, { 0xb5, 'u' },
	};
	/* clang-format on */

	if (c < 0x80)
		return (char)c;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].c == c)
			return rows[i].ascii;
	}
	return '?';
}
