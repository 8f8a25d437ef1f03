/* SPDX-License-Identifier: MIT */
/*
 * causes - what a thread that is blocked in each system call waits for; the kernel side asks the
 * table.
 *
 * Operations on files are those of the table of calls.  A call that is in neither is CAUSE_OTHER.
 */
#pragma once

#include "model/cause.h"
#include "bpf/task_times.h"

/* Fill TIME_CALLS entries, by system call number. */
void causes_fill(struct call_cause *ret);
