/* SPDX-License-Identifier: MIT */
/* traced_files - what the kernel counted of the files of a traced command, by the agent of the node
 * or a meter of our own: to stand beside what the command's libraries said. */
#pragma once

#include <sys/types.h>

struct child;
struct error;
struct reading;
struct traced_files;

/* Before the command's process is there. */
int traced_files_begin(struct traced_files **ret, struct error *err);
/* The command's process stands still. */
int traced_files_admit(struct traced_files *f, pid_t pid, struct error *err);
/* It has ended. */
int traced_files_read(struct traced_files *f, const struct child *child, struct error *err);
/* What was read, with its mounts; the files'.  NULL: nothing was. */
const struct reading *traced_files_reading(const struct traced_files *f);
struct traced_files *traced_files_free(struct traced_files *f); /* NULL is fine; returns NULL */
void traced_files_freep(struct traced_files **f);
