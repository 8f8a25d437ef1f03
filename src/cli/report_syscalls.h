/* SPDX-License-Identifier: MIT */
/* report_syscalls - the part of a report that says which system calls took most time. */
#pragma once

#include "page.h"

struct record;

/* Nothing, if the record does not tell of system calls. */
void report_syscalls(const struct record *r, struct page *page);
