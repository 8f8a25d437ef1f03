/* SPDX-License-Identifier: MIT */
/*
 * numbers - the current rates, from two samples, and gauges of a job, a part of it or a process.
 *
 * NAN is unknown, and never zero.  Rates are over the readings' own times.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/reading.h"

struct document;
struct record;
struct step;

#define NUMBERS_MOUNTS 8

struct mount_numbers { /* per second */
	const char *mount; /* the later record's */
	double read, write, meta;
};

struct numbers {
	double seconds; /* between both readings */
	double cores, cores_allowed;
	double waiting; /* for a CPU: threads, on average */
	double blocked; /* where waiting is lost time (cause_is_lost()): threads, on average */
	size_t cause; /* on which most of these were; CAUSE_COUNT: none, or not known */
	double memory, memory_limit; /* bytes */
	double read, write; /* bytes a second, over all mounts */
	double received, sent; /* the same through all sockets */
	double meta; /* operations on metadata a second */
	double power; /* watts, with its share of the node's idle power */
	bool is_power_estimated;
	double gpus, gpus_held; /* kept busy, of those held */
	double elapsed; /* since its start, in seconds */
	/* The active mounts, those with most metadata operations first; the rest is in the sums
	 * only.
	 */
	struct mount_numbers mounts[NUMBERS_MOUNTS];
	size_t mount_count;
};

/* Nothing known. */
struct numbers numbers_none(void);

/* @before NULL: @now began with nothing, @seconds before it was taken.  @seconds not above 0: no
 * rate is known.  @now must outlive the result. */
struct numbers numbers_of_job(const struct record *now, const struct record *before,
			      double seconds);
/* The same of a step: files are not counted by step. */
struct numbers numbers_of_step(const struct step *now, const struct step *before, double seconds);

/* Idle: no core, no waiting thread, no byte and no operation, as far as known.  For a job without
 * rates yet: false. */
bool numbers_are_idle(const struct numbers *n);

/* As a map; unknown numbers are null. */
void numbers_format(const struct numbers *n, struct document *d);
