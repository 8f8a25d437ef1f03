/* SPDX-License-Identifier: MIT */
/*
 * inherited - what a process has of its parent that would change our work: each program of ours
 * sets it right for itself at its start, and a command that it runs gets it back as it was.
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

/* In a child that becomes somebody else's program, right before execve(). */
void inherited_give_back(void);
