/* SPDX-License-Identifier: MIT */
/* storm - what a program does that looks for its files in every folder there may be. */
#pragma once

#include "work.h"

/* @opens opens of a file that is not in @folder, and @stats stats of one that is. */
void storm_in_folder(struct worker *w, int place, const char *folder, size_t opens, size_t stats);
