/* SPDX-License-Identifier: MIT */
/* registry_state - the text in which a job's folded part is kept: what its writer and its reader
 * share. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/histogram.h"
#include "model/job.h"

#define STATE_SCHEMA "jobmeter.job-state/1"
#define STATE_BYTES_MAX (8u << 20)
#define STATE_STRING_MAX 4096
#define STATE_CGROUPS_MAX 65536
#define STATE_CORES_MAX 8192
#define STATE_RANKS_MAX 65536 /* of all steps that are told together; further steps have none */

const char *state_histogram_name(enum histogram_kind kind);

/* What is known of a job, by its key in the text. */
struct state_key {
	const char *key;
	size_t offset; /* in struct job */
};
extern const struct state_key state_numbers[];
extern const size_t state_number_count;

const uint64_t *state_number_get(const struct job *facts, size_t i); /* 0: not known */
