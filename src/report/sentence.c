/* SPDX-License-Identifier: MIT */
#include "sentence.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"

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
