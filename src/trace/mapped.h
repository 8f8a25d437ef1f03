/* SPDX-License-Identifier: MIT */
/*
 * mapped - files that a process has mapped to execute: in whatever container it is, and whatever
 * their names have become.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mapped_file {
	int fd; /* for the visitor to read; closed afterwards */
	const char *path; /* as the process has it, without a " (deleted)" */
	bool is_program; /* what the process executes */
	uint64_t start, end, offset; /* where the process has it, from where in the file on */
};

/* A negative return ends the visit, and is its result. */
typedef int (*mapped_visitor)(void *context, const struct mapped_file *file);

/* The files of process @pid, but those for which @is_known (NULL: there are none) says so by what
 * maps call them.  A process that ends meanwhile has fewer. */
int mapped_visit(pid_t pid,
		 bool (*is_known)(void *context, unsigned long long device,
				  unsigned long long inode, const char *path),
		 mapped_visitor visit, void *context);
