/* SPDX-License-Identifier: MIT */
/* page - where the tables go: a page of the docs. */
#pragma once

#include <stdio.h>

struct error;

/* "A 2-CPU virtual machine, Linux 6.18, x86_64", without an end of line. */
void page_print_machine(FILE *out);

/* Put @text between the lines "<!-- begin: MARK -->" and "<!-- end: MARK -->" of @path. */
int page_put(const char *path, const char *mark, const char *text, struct error *err);
