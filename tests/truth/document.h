/* SPDX-License-Identifier: MIT */
/*
 * document - the sum of all ledgers as one JSON document, which counts itself:
 *
 *	{"schema": "jobmeter.truth/1",
 *	 "rows": [{"place", "op", "way", "by", "calls", "bytes", "errors", "not_found"}, ...],
 *	 "skipped": [rows: those parts of "rows" of which no completion was asked],
 *	 "absent": ["io_uring: EPERM", ...],
 *	 "totals": {"rchar_bytes", "wchar_bytes"}: what the kernel has to charge the tasks with}
 */
#pragma once

#include "ledger.h"

/* Write it to the new file @path: one unlink, one file created in @place, one write, one close.
 * Returns 0 or -Exxx. */
int document_publish(const struct ledgers *all, int place, const char *path);
