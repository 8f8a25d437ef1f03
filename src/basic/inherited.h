/* SPDX-License-Identifier: MIT */
/*
 * inherited - attributes from the parent that would change our work: each program resets them at
 * its start, and restores them for a command that it runs.
 *
 * Signal dispositions, the umask and the limit of descriptors are the process's own: this remembers
 * them once for it, and so is the one module with state of its own.  Signals that a command's
 * parent blocked: child.h.
 */
#pragma once

#include <sys/types.h>

/* First in main(), before any thread or child.  @mask: all that the umask may take away; of a
 * service no more than 022, since users reach its socket by directories that it makes. */
void inherited_set_right(mode_t mask);

/* In a child, right before execve() of a foreign program. */
void inherited_give_back(void);
