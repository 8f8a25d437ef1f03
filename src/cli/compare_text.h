/* SPDX-License-Identifier: MIT */
/* compare_text - comparisons for people and for spreadsheets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct comparison;
struct page;
struct record;

struct compared { /* the first one is what the others are compared with */
	const char **names;
	struct record **records;
	struct comparison *comparisons; /* that of the first is empty */
	size_t count;
	bool is_all; /* noise, too, in what is for people */
};

void compare_text(const struct compared *all, struct page *page);
void compare_markdown(const struct compared *all, FILE *out);

/* RFC 4180; a row a number and record; what is not known is empty. */
void compare_csv(const struct compared *all, FILE *out);
