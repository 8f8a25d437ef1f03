/* SPDX-License-Identifier: MIT */
/* trace_by_agent - a trace without root: the agent of the node, if the site permits it, traces the
 * user's own processes. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct error;
struct sites;
struct watch_target;

struct trace_wish {
	/* One of these says what is traced. */
	const struct watch_target *job;
	pid_t pid;
	char **command;
	const char *sets, *level, *format;
	uint64_t duration_ns; /* 0: until they end */
	const struct sites *sites; /* of the sets, begun: what a command's files are looked up in */
	FILE *out;
};

/* *ret_code: of the command. */
int trace_by_agent(const struct trace_wish *wish, int *ret_code, struct error *err);
