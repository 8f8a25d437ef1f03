/* SPDX-License-Identifier: MIT */
/* calls - which system calls are counted as which operation on files. */
#pragma once

#include "files.h"

/* Fill the kernel side's table, of FILES_CALLS rows, for this machine's call numbers. */
void calls_fill(struct call_kind *kinds);
