/* SPDX-License-Identifier: MIT */
#include "basic/csv.h"

#include <string.h>

#include "basic/utf8.h"

static void put_character(uint32_t c, FILE *out)
{
	char buffer[UTF8_MAX];

	if (c == '"')
		fputc('"', out);
	if (c != '\n' && !utf8_is_printable(c))
		c = UTF8_REPLACEMENT;
	fwrite(buffer, 1, utf8_encode(c, buffer), out);
}

void csv_put(const char *text, FILE *out)
{
	bool is_quoted = text && strpbrk(text, ",\"\r\n");
	uint32_t c;

	if (!text)
		return;
	if (is_quoted)
		fputc('"', out);
	if (*text && strchr("=+-@\t\r", *text))
		fputc('\'', out);
	while ((c = utf8_next(&text)) != 0)
		put_character(c, out);
	if (is_quoted)
		fputc('"', out);
}
