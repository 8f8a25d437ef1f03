/* SPDX-License-Identifier: MIT */
/* descendants - the processes below one, if no group identifies them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* All descendants of @pid, from proc below @root_fd, without zombies.  At most @max are written;
 * returns how many there are, or -Exxx. */
ssize_t descendants_list(int root_fd, pid_t pid, pid_t *pids, size_t max);

/* A zombie is not, unless threads of it go on. */
bool descendants_is_alive(int root_fd, pid_t pid);

/* Parse "PID (COMM) STATE PPID ..." of proc's stat files; COMM may hold anything. */
int descendants_parse_stat(const char *text, char *ret_state, pid_t *ret_parent);
