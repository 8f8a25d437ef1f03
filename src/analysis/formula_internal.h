/* SPDX-License-Identifier: MIT */
/* formula_parts - what the files of the table of formulas share, and nobody else. */
#pragma once

#include "analysis/formula.h"

/* Those that are told of a row, or of all rows of files. */
extern const struct formula formula_rows[];
extern const size_t formula_rows_count;

struct amount formula_elapsed(const struct subject *s);
struct amount formula_core_time(const struct subject *s);
