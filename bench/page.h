/* SPDX-License-Identifier: MIT */
/* page - where the tables go: a page of the docs. */
#pragma once

#include <stdio.h>

struct error;

/* "A 2-CPU virtual machine, Linux 6.18, x86_64", without an end of line. */
void page_print_machine(FILE *out);

struct page { /* a table on its way */
	FILE *out; /* to print it to */
	char *text;
	size_t size;
};

/* -ENOMEM. */
int page_begin(struct page *ret);

/* What was printed goes to stdout, and between the lines "<!-- begin: MARK -->" and "<!-- end: MARK
 * -->" of @path, if that is not NULL.  The page is gone then, also on failure. */
int page_end(struct page *page, const char *path, const char *mark, struct error *err);
