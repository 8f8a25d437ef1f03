/* SPDX-License-Identifier: MIT */
#include "service/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum config_log_level threshold = CONFIG_LOG_INFO; /* of this process */
static const char *program = "jobmeter-agent";

void log_set_program(const char *name)
{
	program = name;
}

void log_set_level(enum config_log_level level)
{
	threshold = level;
}

void log_say(enum config_log_level level, const char *format, ...)
{
	static const int priorities[] = {
		[CONFIG_LOG_ERROR] = 3,
		[CONFIG_LOG_WARNING] = 4,
		[CONFIG_LOG_INFO] = 6,
		[CONFIG_LOG_DEBUG] = 7,
	};
	char text[1024];
	va_list args;

	if (level > threshold)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (char *p = text; (p = strpbrk(p, "\n\r"));)
		*p = ' ';
	if (getenv("JOURNAL_STREAM"))
		fprintf(stderr, "<%d>%s\n", priorities[level], text);
	else
		fprintf(stderr, "%s: %s\n", program, text);
}
