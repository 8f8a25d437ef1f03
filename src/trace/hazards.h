/* SPDX-License-Identifier: MIT */
/*
 * hazards - what in the files of a process lets a call end, or go on, elsewhere than at its return.
 *
 * A return probe replaces the return address on the stack.  Where an unwinder, a switch of stacks
 * or a foreign runtime meets that address, the program ends or computes something else.  So a
 * return is probed only where no file of the process shows that this can happen.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/probe.h"

struct image;

enum hazard {
	HAZARD_GO,
	HAZARD_CONTEXTS,
	HAZARD_UNWINDING,
	HAZARD_WALK,
	HAZARD_SIGNALS,
	HAZARD_THREAD_END,
	HAZARD_CANCELLATION,
	HAZARD_COUNT,
};

#define HAZARDS_CALLERS_MAX 64

/* What calls functions of the program, if one of these is used: a library, or one of its
 * functions. */
struct caller {
	char *const *callbacks; /* owned by its library or probe */
	size_t callback_count;
	const struct probe_library *library;
};

struct file_hazards { /* one file's; begins as {} */
	char name[64];
	const char *signs[HAZARD_COUNT]; /* by what each is known; NULL: it is not there */
	uint64_t callbacks; /* a bit a caller: this file may give it functions to call */
};

struct hazards { /* a process's; begins as {}; what it points to outlives it */
	const struct file_hazards *files[HAZARD_COUNT];
	uint64_t callbacks;
};

/* @count: at most HAZARDS_CALLERS_MAX. */
void hazards_read(const struct image *image, const char *path, const struct caller *callers,
		  size_t count, struct file_hazards *ret);
void hazards_add(struct hazards *to, const struct file_hazards *file);

/* Why the return of a function of @probe cannot be probed; HAZARD_COUNT: it can.  @exit: how it is
 * probed.  @callers: the bits of its library and its own; 0: it may call whatever it is given. */
enum hazard hazards_judge(const struct hazards *h, const struct probe *probe, enum probe_exit exit,
			  uint64_t callers);

/* "'solver' throws exceptions (__cxa_throw)"; the caller frees it; NULL: no memory. */
char *hazards_format(const struct hazards *h, enum hazard hazard, bool is_late);
