/* SPDX-License-Identifier: MIT */
/* details - T3, what the kernel side counts on demand: files one by one, and system calls by name.
 */
#pragma once

#include <stdint.h>

struct error;
struct hot_files;
struct meter;
struct naming;
struct reading;
struct syscalls;

/* The files that were followed, none if they were not.  @reading has rows by @naming, which needs
 * no map of superblocks. */
int hot_files_read(const struct meter *m, struct naming *naming, struct reading *reading,
		   struct hot_files *ret, struct error *err);

/* What system calls were made, if they were asked for; *ret_open: those that threads sleep in, not
 * counted yet. */
int syscalls_read(const struct meter *m, struct syscalls *ret, uint64_t *ret_open,
		  struct error *err);
