/* SPDX-License-Identifier: MIT */
/* resident - returns memory that only the start of a process needs. */
#pragma once

/*
 * Give back the pages of the program and of its libraries, most of which only a start needs: those
 * that are used again come back from the page cache, a minor fault each, and what is never written
 * needs no other copy.  Where the kernel does not do it, nothing happens.
 */
void resident_drop_text(void);
