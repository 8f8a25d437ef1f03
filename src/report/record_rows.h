/* SPDX-License-Identifier: MIT */
/*
 * record_rows - a record as rows, in order, whatever prints it: the first screen, then the rest.
 *
 * Each structured part of a record brings its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/histogram.h"

struct analysis;
struct block;
struct hot_files;
struct shade;
struct network;
struct patterns;
struct ports;
struct record;
struct rows;
struct steps;
struct syscalls;
struct traced_calls;
struct thermal_samples;
struct oom_list;

/* @last is the run of the same command before, or NULL; @analysis is of @now.  All three must
 * outlive the rows.  The caller frees them; NULL: no memory. */
struct rows *record_rows(const struct record *now, const struct record *last,
			 const struct analysis *analysis);

/* ---- its parts ---- */

void head_rows(const struct record *r, const struct analysis *a, struct rows *rows);
/*
 * The lines that each report begins with.  CPU efficiency is CPU time over elapsed time times
 * allocated cores; memory efficiency is the peak over what was requested, or the limit: both as
 * seff(1) has them.  Working time: analysis/working_time.h.
 */
void summary_rows(const struct record *r, const struct analysis *a, struct rows *rows);
/* The first two of these lines; @is_short: without what the job waited for. */
void efficiency_rows(const struct record *r, const struct analysis *a, bool is_short,
		     struct rows *rows);
/* The mounts that did a hundredth of the work at least, on the first screen. */
void screen_files_rows(const struct record *r, struct rows *rows);
/* What was not measured, in a line, and where more is; on the first screen. */
void screen_end_rows(const struct record *r, struct rows *rows);
/* What rules say: the first in short, or that nothing stands out; @is_whole: all, by severity,
 * where there is room with what it is known by. */
void findings_rows(const struct analysis *a, bool is_whole, unsigned int forms, struct rows *rows);
void core_time_rows(const struct record *r, const struct analysis *a, struct rows *rows);
void cpu_time_rows(const struct record *r, struct rows *rows);
/* False: nothing was counted. */
bool hardware_rows(const struct record *r, struct rows *rows);
/* @has_label: the line before has it already. */
void thermal_rows(const struct thermal_samples *t, bool has_label, struct rows *rows);
void memory_rows(const struct record *r, struct rows *rows);
/* How much, and how that is known; on the first screen.  The rest of it. */
void energy_row(const struct record *r, struct rows *rows);
void energy_rows(const struct record *r, struct rows *rows);
/* The GPUs that it held, in a line; each of them. */
void gpu_row(const struct record *r, struct rows *rows);
void gpus_rows(const struct record *r, struct rows *rows);
void oom_kills_rows(const struct oom_list *oom_list, struct rows *rows);
/* @patterns: what was found in it, or NULL. */
void timeline_rows(const struct record *r, const struct patterns *patterns, struct rows *rows);
void files_rows(const struct record *r, struct rows *rows);
/* What was paged in and dirtied by mappings, in a line. */
void mapped_rows(const struct record *r, unsigned int forms, const char *label, struct rows *rows);
/* Each operation of each mount: calls, failures and time. */
void operations_rows(const struct record *r, struct rows *rows);
void hot_files_rows(const struct record *r, struct rows *rows);
void block_rows(const struct block *b, struct rows *rows);
void network_rows(const struct network *n, struct rows *rows);
/* What went over the network, on the first screen, where it is a megabyte or was waited for. */
void network_row(const struct record *r, struct rows *rows);
void ports_rows(const struct ports *ports, struct rows *rows); /* NULL: none */
void syscalls_rows(const struct syscalls *s, struct rows *rows);
void trace_rows(const struct traced_calls *c, struct rows *rows);
void steps_rows(const struct steps *steps, struct rows *rows);
void coverage_rows(const struct record *r, const struct analysis *a, struct rows *rows);

/* Of a histogram of @heading (NULL: that of the one before), for a page.  False: it is empty. */
bool histogram_rows(const char *heading, const char *title, enum histogram_kind kind,
		    const struct histogram *histogram, const struct shade *shade,
		    struct rows *rows);

/* ---- the processor's counters and sensors in words; the caller frees; NULL: nothing measured ----
 */

/* "2.9 GHz while on CPU, 1.8 instructions a cycle, 4.2 LLC misses per 1,000 instructions, 12
 * GFLOP/s on CPU", with "~" for estimates. */
char *hardware_words(const struct record *r);
/* "2.84 GHz on average, 1.90 GHz at least, 82 °C on average, ... (62 samples of its CPUs)" */
char *thermal_words(const struct thermal_samples *t);
