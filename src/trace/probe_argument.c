/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "basic/cleanup.h"
#include "basic/error.h"
#include "trace/probe.h"
#include "trace/probe_parts.h"

#define ARGUMENT_MAX 1000

/* Each "NAME=VALUE" of @list, divided by commas outside of parentheses, as a line of a file: what
 * is no field of a probe is a capture. */
static void write_fields(FILE *out, const char *list)
{
	while (*list) {
		size_t length = 0;
		int depth = 0;

		list += strspn(list, " ");
		for (; list[length] && (depth || list[length] != ','); length++)
			depth += (list[length] == '(') - (list[length] == ')');
		fprintf(out, "%s%.*s\n", probe_is_field(list) ? "" : "cap.", (int)length, list);
		list += length;
		list += *list == ',';
	}
}

/* The file that says what the argument does. */
static int write_file(FILE *out, char *argument, struct error *err)
{
	char *list = strchr(argument, '('), *symbol, *end = argument + strlen(argument);
	const char *site = "symbol";

	if (list && end[-1] != ')')
		return error_set(err, -EINVAL, "--probe: ')' must stand at the end");
	if (list) {
		end[-1] = '\0';
		*list++ = '\0';
	}
	if (strncmp(argument, "usdt:", 5) == 0) {
		site = "usdt";
		argument += 5;
	}
	symbol = strchr(argument, ':');
	if (!symbol || symbol == argument || !symbol[1] || strpbrk(argument, " \t)"))
		return error_set(
			err, -EINVAL,
			"--probe: LIB:SYMBOL[(NAME=VALUE,...)] must stand here, as in 'libz.so*:compress2(size=p4)'");
	*symbol++ = '\0';
	if (strstr(symbol, "::"))
		return error_set(
			err, -EINVAL,
			"--probe: functions of C++ and Rust have the names that `nm -D` shows, as _ZN2ns1f; a pattern such as '*%s*' finds them",
			strrchr(symbol, ':') + 1);
	if (strcmp(argument, "kernel") == 0 || strcmp(argument, "tracepoint") == 0)
		site = argument;
	fprintf(out, "[set ad-hoc]\nabout = what --probe names\nfails = never\n[library given]\n");
	/* "libz" is libz.so.1, too */
	if (strncmp(argument, "lib", 3) == 0 && !strpbrk(argument, "*?[./"))
		fprintf(out, "file = %s %s.so*\n", argument, argument);
	else
		fprintf(out, "file = %s\n", argument);
	fprintf(out, "[probe %.*s]\n%s = %s\n", PROBE_NAME_MAX - 1, symbol, site, symbol);
	write_fields(out, list ? list : "");
	return 0;
}

/* "--probe:7: cap.c: ..." becomes "--probe: cap.c: ...": the user typed no lines. */
static void leave_line_out(struct error *err)
{
	static const char name[] = "--probe:";
	char *line = err->text + sizeof(name) - 1;

	if (strncmp(err->text, name, sizeof(name) - 1) == 0 && strspn(line, "0123456789"))
		memmove(line, line + strspn(line, "0123456789") + 1,
			strlen(line + strspn(line, "0123456789")));
}

int probe_set_parse_argument(const char *argument, struct probe_set **ret, struct error *err)
{
	_cleanup_free_ char *copy = strdup(argument), *text = NULL;
	size_t length = 0;
	FILE *out;
	int r;

	if (!copy)
		return -ENOMEM;
	if (!*copy || strlen(copy) > ARGUMENT_MAX)
		return error_set(err, -EINVAL, "--probe: 1 to %d characters", ARGUMENT_MAX);
	for (const char *p = copy; *p; p++) {
		if (iscntrl((unsigned char)*p))
			return error_set(err, -EINVAL, "--probe: it contains a control character");
	}
	out = open_memstream(&text, &length);
	if (!out)
		return -ENOMEM;
	r = write_file(out, copy, err);
	if (fclose(out) != 0)
		return -ENOMEM;
	if (r == 0)
		r = probe_set_parse(text, length, "--probe", ret, err);
	if (r < 0 && err)
		leave_line_out(err);
	return r;
}
