/* SPDX-License-Identifier: MIT */
/* moment - a point in time as people type it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

/*
 * "7d", "36h", "90m" (so long before @now_ns; s and w too, and "now-7d", "now"), "today",
 * "2026-11-20", "2026-11-20 14:30", "2026-11-20T14:30:05" (of the local clock), or RFC 3339 with
 * its zone "Z".  *ret: ns since the epoch.  -EINVAL: *err says what will do.
 */
int moment_parse(const char *text, uint64_t now_ns, uint64_t *ret, struct error *err);

/* The same of now, as a cli_option parses its argument into a uint64_t. */
int moment_parse_argument(const char *text, void *at, struct error *err);

/* "12h", "90m", "7d", "36s", "2w" as seconds. */
bool moment_parse_span(const char *text, uint64_t *ret_s);
