/* SPDX-License-Identifier: MIT */
#include "server/store/cursor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/error.h"
#include "basic/parse.h"
#include "basic/utf8.h"

#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._"

/* What is not plain is "*" and two digits of hex. */
static void put_escaped(const char *text, FILE *out)
{
	for (const char *p = text; *p; p++) {
		if (strchr(PLAIN, *p))
			fputc(*p, out);
		else
			fprintf(out, "*%02x", (unsigned char)*p);
	}
}

char *store_cursor_format(const struct store_cursor *cursor)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "%" PRId64 "~%" PRId64 "~%" PRId64, cursor->order, cursor->start_ns,
		cursor->uid);
	for (size_t i = 0; i < CURSOR_TEXTS; i++) {
		fputc('~', out);
		put_escaped(cursor->texts[i] ? cursor->texts[i] : "", out);
	}
	fclose(out);
	return text;
}

static int hex_of(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* In place: what is written is never longer than what was read. */
static bool unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		if (*p != '*') {
			*to++ = *p;
			continue;
		}
		int high = hex_of(p[1]), low = high < 0 ? -1 : hex_of(p[2]);

		if (low < 0 || (high == 0 && low == 0))
			return false;
		*to++ = (char)(high * 16 + low);
		p += 2;
	}
	*to = '\0';
	return utf8_is_valid(text);
}

static bool take_number(const char *text, int64_t *ret)
{
	bool is_negative = *text == '-';
	uint64_t number;

	if (parse_u64(text + is_negative, &number) < 0 || number > INT64_MAX)
		return false;
	*ret = is_negative ? -(int64_t)number : (int64_t)number;
	return true;
}

int store_cursor_parse(const char *text, struct store_cursor *ret, char **ret_kept,
		       struct error *err)
{
	int64_t *const numbers[] = { &ret->order, &ret->start_ns, &ret->uid };
	char *copy = strlen(text) <= CURSOR_MAX ? strdup(text) : NULL, *rest = copy, *part;
	bool is_valid = copy;
	size_t count = 0;

	while (is_valid && (part = strsep(&rest, "~"))) {
		if (count < CURSOR_PARTS - CURSOR_TEXTS)
			is_valid = take_number(part, numbers[count]);
		else if (count < CURSOR_PARTS)
			is_valid = unescape(part);
		else
			is_valid = false;
		if (is_valid && count >= CURSOR_PARTS - CURSOR_TEXTS)
			ret->texts[count - (CURSOR_PARTS - CURSOR_TEXTS)] = part;
		count++;
	}
	if (is_valid && count == CURSOR_PARTS) {
		*ret_kept = copy;
		return 0;
	}
	free(copy);
	return error_set(err, -EINVAL, "after: this is no place where a page ended");
}
