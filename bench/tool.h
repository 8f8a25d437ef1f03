/* SPDX-License-Identifier: MIT */
/* tool - another program, running: started, listened to, asked to end. */
#pragma once

#include <stdbool.h>

struct error;
struct tool;

/* Is it in the PATH? */
bool tool_exists(const char *name);

/* The last word of the first line that "NAME OPTION" prints; "" if none. */
void tool_version(const char *name, const char *option, char *ret, int size);

/* Start @argv and wait until it prints @ready; NULL: do not wait.  Its standard error and output
 * are one. */
int tool_start(char *const argv[], const char *ready, struct tool **ret, struct error *err);

/* False: it has ended by itself. */
bool tool_is_running(const struct tool *t);

/* SIGINT will not just kill it. */
bool tool_catches_sigint(const struct tool *t);

/* SIGINT, wait for its end.  What it said all along belongs to the tool. */
const char *tool_end(struct tool *t);

/* Ends it if it runs.  NULL is fine; returns NULL. */
struct tool *tool_free(struct tool *t);
void tool_freep(struct tool **t);
