/* SPDX-License-Identifier: MIT */
/* aio - data by the kernel's older asynchronous calls (those of libaio), buffered and direct. */
#pragma once

#include "work.h"

/* Where the kernel has none, that is noted in the ledger. */
void aio_in_folder(struct worker *w, int place, const char *folder);
