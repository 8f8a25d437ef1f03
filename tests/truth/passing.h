/* SPDX-License-Identifier: MIT */
/*
 * passing - data that goes from file to file inside the kernel: sendfile, splice, copy_file_range.
 *
 * Each such call is a read of the one file and a write of the other, and where it fails an error of
 * both.
 */
#pragma once

#include "work.h"

struct folder {
	int place;
	const char *path;
};

/* From a file in @from to one in @to, which may be one folder; @ways: bits, 1 << WAY_SENDFILE... */
void pass_between(struct worker *w, unsigned int ways, struct folder from, struct folder to);
