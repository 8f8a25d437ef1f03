/* SPDX-License-Identifier: MIT */
/* details - T3, what the kernel side counts on demand: files one by one, and system calls by name.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;
struct hot_files;
struct meter;
struct naming;
struct reading;
struct syscall_row;
struct syscalls;

/* The files that were followed, none if they were not.  @reading has rows by @naming, which needs
 * no map of superblocks. */
int hot_files_read(const struct meter *m, struct naming *naming, struct reading *reading,
		   struct hot_files *ret, struct error *err);

/* What system calls were made, if they were asked for; *ret_open: those that threads sleep in, not
 * counted yet. */
int syscalls_read(const struct meter *m, struct syscalls *ret, uint64_t *ret_open,
		  struct error *err);

/* Where groups are told apart: a row a cgroup, name and CPU, of the @count cgroups in @cgroups,
 * which are sorted; NULL: of all.  What @visit returns below 0 ends it, and is its result. */
typedef int (*syscall_visitor)(void *context, uint64_t cgroup, const struct syscall_row *row);
int syscalls_visit(const struct meter *m, const uint64_t *cgroups, size_t count,
		   syscall_visitor visit, void *context);

/* How many threads, of these cgroups or of all, sleep in a call that goes on, and is not counted
 * yet. */
uint64_t syscalls_count_open(const struct meter *m, const uint64_t *cgroups, size_t count);
