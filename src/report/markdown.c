/* SPDX-License-Identifier: MIT */
#include "report/markdown.h"

#include <stdbool.h>
#include <string.h>

#include "basic/utf8.h"

static void put_character(uint32_t c, FILE *out)
{
	char buffer[UTF8_MAX];

	if (c == 0x7f || c < 0x20)
		c = ' ';
	if (!utf8_is_printable(c))
		c = UTF8_REPLACEMENT;
	fwrite(buffer, 1, utf8_encode(c, buffer), out);
}

void markdown_put(const char *text, FILE *out)
{
	uint32_t c;

	for (size_t i = 0; (c = utf8_next(&text)) != 0; i++) {
		if (i == MARKDOWN_TEXT_MAX) {
			fputs("…", out);
			return;
		}
		if (c < 0x80 && strchr("\\`*_{}[]<>#|!&~", (int)c))
			fputc('\\', out);
		put_character(c, out);
	}
}

void markdown_put_code(const char *text, FILE *out)
{
	uint32_t c;

	fputc('`', out);
	for (size_t i = 0; i < MARKDOWN_TEXT_MAX && (c = utf8_next(&text)) != 0; i++)
		put_character(c == '`' ? ' ' : c, out);
	fputc('`', out);
}
