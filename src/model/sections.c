/* SPDX-License-Identifier: MIT */
/* The table of sections alone, so that a test can have one of its own. */
#include "basic/macro.h"
#include "model/section.h"
#include "model/sections.h"

const struct section *const sections[] = { SECTIONS };
const size_t section_count = ARRAY_SIZE(sections);
