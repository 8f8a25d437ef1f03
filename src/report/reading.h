/* SPDX-License-Identifier: MIT */
/* reading - what each line of a report says: for help, the manual page and the HTML page. */
#pragma once

#include "basic/cli.h"

extern const struct cli_term reading_terms[]; /* the last has no word */
