/* SPDX-License-Identifier: MIT */
/*
 * meta - every operation on metadata by every system call there is for it, rightly and wrongly.
 *
 * A file is named by descriptor, by its whole path, from its folder on, or through a link to its
 * folder.  What fails is noted as it comes: file systems differ in what they can do.
 */
#pragma once

#include "work.h"

/* All that was made is removed at the end.  @with_newest: with calls that tools such as strace may
 * not know yet, where the kernel does. */
void meta_in_folder(struct worker *w, int place, const char *folder, bool with_newest);
void meta_on_device(struct worker *w, int place, const char *path);

/* Pipes, sockets, what the kernel makes on the fly, and descriptors that are none. */
void meta_elsewhere(struct worker *w);

/* A sync of all there is, which has no place.  Slow where others write much. */
void meta_of_machine(struct ledger *l);

/* ---- for meta's own parts ---- */

/* A folder to its end, by as many calls as it takes; the end is one of them. */
void meta_list_folder(struct worker *w, struct file dir, long number);
