/* SPDX-License-Identifier: MIT */
/*
 * work - every operation on every kind of file, a known number of times, prime where it can be.
 *
 * Nothing here waits for another task, and what fails is noted and left behind: the set takes the
 * same steps on every kernel and file system, and the ledger has what each of them gave back.
 */
#pragma once

#include "counted.h"

struct worker {
	struct ledger *ledger;
	const char *name; /* its files bear it: no two workers share one */
	char *buffer; /* WORK_BUFFER_BYTES, and behind them a page that cannot be touched */
	struct file hole; /* a descriptor that was closed, and stays so */
	const char *wrong; /* who found that a file does not hold what was written to it, or is none
			    */
};

#define WORK_BUFFER_BYTES 262144

/* A new buffer; NULL: no memory.  Never freed: the worker's process ends with it. */
char *work_buffer_new(void);

/* Close a descriptor far above all others, so that it is no file's, inside the process' table.  To
 * be called before there are threads. */
struct file work_make_hole(struct ledger *l);

/* Regular files and the folder itself; all that was made is removed at the end. */
void work_in_folder(struct worker *w, int place, const char *folder);
void work_on_device(struct worker *w, int place, const char *path);
void work_on_pipes(struct worker *w);
void work_on_sockets(struct worker *w);
void work_on_pseudo_files(struct worker *w);
void work_on_bad_descriptors(struct worker *w);
