/* SPDX-License-Identifier: MIT */
/*
 * utf8 - untrusted text: decoded, measured in columns, cut.
 *
 * Nothing here depends on the locale.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT UINT32_C(0xfffd)
#define UTF8_MAX 4 /* bytes of one character */

/* The character at *@text, which moves behind it; 0 at the end.  A byte that belongs to no valid
 * character (overlong forms and surrogates are none) is one UTF8_REPLACEMENT. */
uint32_t utf8_next(const char **text);

/* Returns the bytes written to @buffer, which gets no NUL. */
size_t utf8_encode(uint32_t c, char buffer[UTF8_MAX]);

/* False for what moves the cursor, starts an escape or turns the direction of writing. */
bool utf8_is_printable(uint32_t c);

/* Columns on a terminal: 0, 1 or 2. */
unsigned int utf8_width(uint32_t c);
size_t utf8_columns(const char *text);

/* No byte of it is invalid. */
bool utf8_is_valid(const char *text);

/* A copy without invalid bytes, for writers that refuse them.  NULL: no memory. */
char *utf8_repair(const char *text);

/* A copy of at most @columns (at least 1) columns: what is too long loses its middle to a "…".
 * NULL: no memory. */
char *utf8_shorten(const char *text, size_t columns);

/* The ASCII substitute of a character of ours (bars, curves, lines); '?' for all others. */
char utf8_ascii(uint32_t c);
