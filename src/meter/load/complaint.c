/* SPDX-License-Identifier: MIT */
#include "load/complaint.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "basic/cleanup.h"
#include "basic/macro.h"

#define PREFIX "libbpf: "
#define BEGIN "-- BEGIN PROG LOAD LOG --\n"
#define END "-- END PROG LOAD LOG --"
#define UNRESOLVED "failed to resolve CO-RE relocation"

static bool begins_with(const char *line, const char *end, const char *with)
{
	size_t length = strlen(with);

	return (size_t)(end - line) >= length && memcmp(line, with, length) == 0;
}

/* Source, an instruction ("12: (85) call ..."), or what the registers hold there. */
static bool is_listing(const char *line, const char *end)
{
	const char *at = line;

	while (at < end && isdigit((unsigned char)*at))
		at++;
	return line == end || *line == ';' || (at > line && at < end && *at == ':');
}

/* The line with the reason; NULL: there is none. */
static const char *find_reason(const char *log, const char *log_end, const char **ret_end)
{
	const char *reason = NULL;

	while (log < log_end) {
		const char *end = memchr(log, '\n', (size_t)(log_end - log));

		end = end ? end : log_end;
		if (begins_with(log, end, "processed ")) /* statistics: all is said */
			break;
		if (!is_listing(log, end)) {
			reason = log;
			*ret_end = end;
		}
		if (begins_with(log, end, UNRESOLVED))
			break;
		log = end + 1;
	}
	return reason;
}

static void keep(struct complaint *c, const char *begin, const char *begin_end, const char *text,
		 const char *end)
{
	int room = (int)sizeof(c->text);

	snprintf(c->text, sizeof(c->text), "%.*s%.*s", (int)MIN(begin_end - begin, room), begin,
		 (int)MIN(end - text, room), text);
}

void complaint_hear(struct complaint *c, const char *message)
{
	const char *text = begins_with(message, message + strlen(message), PREFIX)
				   ? message + strlen(PREFIX)
				   : message;
	const char *log = strstr(text, BEGIN), *reason, *end;

	if (c->is_verifiers)
		return;
	if (log) {
		const char *log_end = strstr(log, END);

		reason = find_reason(log + strlen(BEGIN), log_end ? log_end : log + strlen(log),
				     &end);
		if (reason) {
			keep(c, text, log, reason, end); /* begins with the program's name: "prog
							    'x': " */
			c->is_verifiers = true;
			return;
		}
	}
	if (!*c->text)
		keep(c, text, text, text, text + strcspn(text, "\n"));
}

static __thread struct complaint *listener;

static int hear(enum libbpf_print_level level, const char *format, va_list args)
{
	const char *debug = getenv("JOBMETER_DEBUG");
	_cleanup_free_ char *message = NULL;

	if (debug && strstr(debug, "bpf"))
		return vfprintf(stderr, format, args);
	if (level != LIBBPF_WARN || !listener)
		return 0;
	if (vasprintf(&message, format, args) < 0)
		message = NULL; /* undefined after a failure */
	else
		complaint_hear(listener, message);
	return 0;
}

static __thread libbpf_print_fn_t before;

void complaint_listen(struct complaint *c)
{
	*c = (struct complaint){};
	listener = c;
	before = libbpf_set_print(hear);
}

void complaint_stop(void)
{
	listener = NULL;
	libbpf_set_print(before);
}
