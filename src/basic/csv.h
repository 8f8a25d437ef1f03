/* SPDX-License-Identifier: MIT */
/*
 * csv - untrusted text as a cell of CSV, quoted if needed.
 *
 * Tables are shown on terminals, so unprintable characters (but newlines in a quoted cell) and
 * invalid bytes become U+FFFD. In spreadsheets a cell that begins with "=", "+", "-" or "@" is a
 * formula that may fetch and run things: such a text gets a "'" before it.
 */
#pragma once

#include <stdio.h>

void csv_put(const char *text, FILE *out); /* NULL: nothing */
