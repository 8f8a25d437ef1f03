/* SPDX-License-Identifier: MIT */
/*
 * mapped - pages of files that come and go through mappings, which are no calls.
 *
 * What came is told by the pages that are in memory afterwards and were not before, and what was
 * dirtied by the task's own write_bytes; so the folder has to be on a disk, with memory to spare.
 */
#pragma once

#include "work.h"

void mapped_in_folder(struct worker *w, int place, const char *folder);
