/* SPDX-License-Identifier: MIT */
#include "basic/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int error_set(struct error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	return code;
}

static void append(struct error *err, const char *text)
{
	size_t used = strlen(err->text);

	snprintf(err->text + used, sizeof(err->text) - used, "%s", text);
}

int error_set_errno(struct error *err, int error_number, const char *format, ...)
{
	int code = abs(error_number);
	va_list args;
	char reason[128];

	if (!err)
		return -code;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	append(err, ": ");
	append(err, strerror_r(code, reason, sizeof(reason)));
	return -code;
}

int error_prefix(struct error *err, int code, const char *format, ...)
{
	struct error inner;
	va_list args;

	if (!err)
		return code;
	inner = *err;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	append(err, ": ");
	append(err, inner.text);
	return code;
}
