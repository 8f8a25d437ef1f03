/* SPDX-License-Identifier: MIT */
/* markup - whether a page is well formed, for tests: stricter than any browser. */
#pragma once

/* NULL: it is.  Else where it is not, from there to the end of the text. */
const char *markup_find_fault(const char *text);
