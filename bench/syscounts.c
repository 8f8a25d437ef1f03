/* SPDX-License-Identifier: MIT */
/*
 * Contenders that count each system call by its number, with its time: jobmeter's --syscalls alone,
 * and syscount of libbpf-tools, which looks at the worker's process alone.  What the worker talks
 * to the bench is in their counts, too.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "contender.h"
#include "basic/error.h"
#include "kinds.h"
#include "counters/details.h"
#include "load/meter.h"
#include "basic/parse.h"
#include "tool.h"

static int64_t calls_of(const struct syscalls *s, const char *name)
{
	const struct syscall_row *row = syscalls_find(s, name);

	return row ? (int64_t)syscall_number(row, METRIC_SYSCALL_CALLS).number : 0;
}

int syscalls_end(struct contest *c, struct counted *ret, struct error *err)
{
	struct syscalls counted = {};
	int r = syscalls_read(c->state, &(struct details_of){ .is_all = true }, &counted, err);

	ret->reads = calls_of(&counted, "pread64");
	ret->writes = calls_of(&counted, "write");
	syscalls_clear(&counted);
	meter_close(c->state);
	return r;
}

static int syscount_start(struct contest *c, struct error *err)
{
	char pid[16];
	char *const argv[] = { "stdbuf", "-oL", "syscount", "-L", "-T", "100", "-p", pid, NULL };
	struct tool *tool;
	int r;

	snprintf(pid, sizeof(pid), "%d", worker_pid(c->ring->worker));
	r = tool_start(argv, "Tracing", &tool, err);
	if (r >= 0)
		c->state = tool;
	return r;
}

/* "pread64                 1009        1234.567": calls, and microseconds. */
static int64_t calls_told(const char *says, const char *name)
{
	char wanted[32];
	const char *line;
	uint64_t number = 0;

	snprintf(wanted, sizeof(wanted), "\n%s ", name);
	line = strstr(says, wanted);
	if (!line)
		return 0;
	for (line += strlen(wanted); *line == ' '; line++)
		;
	return parse_leading_u64(&line, &number) < 0 ? 0 : (int64_t)number;
}

static int syscount_end(struct contest *c, struct counted *ret, struct error *err)
{
	const char *says = tool_end(c->state);

	(void)err;
	ret->reads = calls_told(says, "pread64");
	ret->writes = calls_told(says, "write");
	tool_free(c->state);
	return 0;
}

const struct contender_kind kind_syscount = { syscount_start, syscount_end, false, NULL };
