/* SPDX-License-Identifier: MIT */
/*
 * canary - attached is not the same as sees it: a process of ours does each operation once, and a
 * hook that did not count it right is off from then on.
 */
#pragma once

#include "load/meter.h"

struct error;

/*
 * Sing in a group of the canary's own, that is removed afterwards; then @m watches @watched_id
 * again, with nothing counted.  Costs some 35 ms: a group is joined, and an end waited for.
 * @is_thorough: run by libaio and by a mapping of a file on storage too; that takes some 30 ms more
 * where libaio is seen, and may have to wait for the storage.  Where a hook counted wrong the
 * canary runs again, up to three times: on a busy machine one may miss a call.  A negative return
 * means that the canary could not run (no group, no process), and then no hook is judged.
 *
 * Never judged are the hooks on kernel threads: no process of ours is one.
 */
int canary_run(struct meter *m, int root_fd, const struct hierarchy *h, uint64_t watched_id,
	       bool is_thorough, struct error *err);
