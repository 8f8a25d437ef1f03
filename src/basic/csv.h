/* SPDX-License-Identifier: MIT */
/*
 * csv - text of others as a cell of CSV: quoted where it has to be.
 *
 * Tables are looked at on terminals, too.  So what is no printable character (a line's end in a
 * quoted cell aside) is U+FFFD, and so is each byte of no character.  They are opened as sheets,
 * too, where a cell that begins with "=", "+", "-" or
 * "@" is a formula, that may fetch and run what it names: such a text has a "'" before it, as it
 * would be typed there.
 */
#pragma once

#include <stdio.h>

void csv_put(const char *text, FILE *out); /* NULL: nothing */
