/* SPDX-License-Identifier: MIT */
/*
 * canary - tests attached hooks: a process of ours does each operation once, and a hook that did
 * not count it right is switched off.
 */
#pragma once

#include "load/meter.h"

struct error;

/*
 * Run in a group of its own, which is removed afterwards; then @m watches @watched_id again, with
 * all counts dropped.  Costs some 35 ms: a group is joined, and an end waited for.  @is_thorough:
 * also by libaio and by a mapping of a file on storage; some 30 ms more if libaio is seen, and may
 * wait for the storage.  If a hook counted wrong it runs again, up to three times: on a busy
 * machine a hook may miss a call.  A negative return: it could not run (no group, no process), and
 * no hook is judged.
 *
 * Hooks on kernel threads are not judged.
 */
int canary_run(struct meter *m, int root_fd, const struct hierarchy *h, uint64_t watched_id,
	       bool is_thorough, struct error *err);
