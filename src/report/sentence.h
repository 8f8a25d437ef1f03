/* SPDX-License-Identifier: MIT */
/* sentence - text that grows part by part, with something between the parts. */
#pragma once

#include "basic/macro.h"

struct sentence { /* begins as {} */
	char *text; /* owned; NULL: no part yet */
};

void sentence_freep(struct sentence *s);

/* Add @between (only if there is something already) and a part.  No memory: the part is left out.
 */
void sentence_add(struct sentence *s, const char *between, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* Add what a record says of itself ("total memory: its cgroup has no memory controller") as a
 * sentence of its own, behind a blank: with a capital, but for names that are written without
 * (io_uring, libaio), and a full stop. */
void sentence_add_whole(struct sentence *s, const char *text);
