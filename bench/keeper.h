/* SPDX-License-Identifier: MIT */
/* keeper - a process that tidies up when this one ends without having done so, by whatever signal.
 */
#pragma once

#include <sys/types.h>

struct error;

/* @end is called in the keeper, which hears no signal that is meant for us; @what must be as it
 * will be needed. */
int keeper_start(void (*end)(const void *what), const void *what, pid_t *ret, struct error *err);
/* All is tidy: it has nothing to do.  0 is fine. */
void keeper_dismiss(pid_t keeper);
