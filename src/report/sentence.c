/* SPDX-License-Identifier: MIT */
#include "report/sentence.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/macro.h"

void sentence_freep(struct sentence *s)
{
	free(s->text);
}

void sentence_add(struct sentence *s, const char *between, const char *format, ...)
{
	_cleanup_free_ char *part = NULL;
	char *longer;
	va_list args;
	int r;

	va_start(args, format);
	r = vasprintf(&part, format, args);
	va_end(args);
	if (r < 0) {
		part = NULL; /* undefined after a failure */
		return;
	}
	if (asprintf(&longer, "%s%s%s", s->text ? s->text : "", s->text ? between : "", part) < 0)
		return;
	free(s->text);
	s->text = longer;
}

static bool is_name(const char *text)
{
	static const char *const names[] = { "io_uring", "libaio" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strncmp(text, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

void sentence_add_whole(struct sentence *s, const char *text)
{
	const bool is_small = *text >= 'a' && *text <= 'z' && !is_name(text);
	const size_t length = strlen(text);

	if (length)
		sentence_add(s, " ", "%c%s%s", is_small ? *text - 'a' + 'A' : *text, text + 1,
			     text[length - 1] == '.' ? "" : ".");
}
